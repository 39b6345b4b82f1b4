"""Tools of an assistant as a schema: reads and writes function definitions in any layout that `readers.tools` knows.

Each function is a service with one intent, since arguments of the same name may mean different things in two functions.
Arguments are slots (`schemas.arguments`). Enumerations and booleans are categorical. Tools that are not functions are
kept.

A variant is written into a copy of the definitions, in which only names, titles and descriptions change. Titles, and
texts that mention the name of a function or an argument, get the new names.
"""

from __future__ import annotations

from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Schema, Service
from troth.perturb.schemas import mentions
from troth.perturb.schemas.arguments import ArgumentReader, ArgumentWriter, description_of
from troth.perturb.schemas.calls import FunctionNames
from troth.perturb.schemas.variants import ServiceWordings, Wordings
from troth.readers.tools import PARAMETERS, Definition, definitions, replace_at
from troth.text.identifiers import make_unique

NO_FUNCTION = '{"type": "function", "function": {"name": …}}'


class ToolDefinitions(msgspec.Struct, frozen=True):
    """Definitions as they were read, and their schema."""

    document: Any
    schema: Schema

    def rewrite(self, variant: Schema) -> Any:
        """The definitions with the names and descriptions of a variant; unchanged for the schema itself."""
        document = self.document
        functions = mentions.functions(self.schema, variant)
        services = zip(self.schema.values(), variant.values(), strict=True)
        for definition, (old, new) in zip(definitions(document), services, strict=True):
            document = replace_at(document, definition.path, _rewrite(definition, old, new, functions))
        return document

    def names(self, variant: Schema) -> dict[str, FunctionNames]:
        """Old names by new names, for each function, to convert calls under a variant back."""
        names = {}
        services = zip(self.schema.values(), variant.values(), strict=True)
        for definition, (old, new) in zip(definitions(self.document), services, strict=True):
            arguments = {b.name: a.name for a, b in zip(old.slots, new.slots, strict=True)}
            renamed = {a: b for b, a in arguments.items()}
            reader = _reader(definition)
            reader.service()
            same = {renamed[path]: renamed.get(first, first) for path, first in reader.same.items()}
            names[new.intents[0].name] = FunctionNames(old.intents[0].name, arguments, same)
        return names


def detect(document: Any) -> bool:
    """Whether a JSON document is a list of tools, by its content."""
    if not isinstance(document, list | dict):
        return False
    try:
        functions = [definition.function for definition in definitions(document)]
    except UserError:  # tools with an error, which `read` reports
        return True
    return any(key in function for function in functions for key in ("description", *(keys[0] for keys in PARAMETERS)))


def read(document: Any) -> ToolDefinitions:
    """Function definitions with their schema."""
    if not isinstance(document, list | dict):
        raise UserError("is neither a list nor an object", hint="a list of tools is expected")
    schema: Schema = {}
    for definition in definitions(document):
        service = _reader(definition).service()
        if service.name in schema:
            raise UserError(f"function '{service.name}' is defined twice", hint="remove one")
        schema[service.name] = service
    if not schema:
        raise UserError("no function is defined in it", hint=NO_FUNCTION)
    return ToolDefinitions(document, schema)


def separate_names(schema: Schema, variant: Schema, *, strict: bool) -> Schema:
    """The variant with different names for all functions, and with new names in its descriptions.

    Of two functions with the same name, the later is numbered; with `strict`, it is an error. Without `strict`, no
    function gets the name of another one in `schema`.
    """
    taken: set[str] = set()
    services: Schema = {}
    for old, (key, service) in zip(schema.values(), variant.items(), strict=True):
        intent = service.intents[0]
        if intent.name in taken and strict:
            raise UserError(f"two functions would be called '{intent.name}'", hint="use other paraphrases")
        name = make_unique(intent.name, taken if strict else taken | schema.keys() - {old.name})
        taken.add(name)
        services[key] = msgspec.structs.replace(service, intents=(msgspec.structs.replace(intent, name=name),))
    return mentions.rename_mentions(schema, services)


def wordings_of_function(name: str, wordings: ServiceWordings) -> ServiceWordings:
    """Wordings of a tool: its name and description are those of its only intent."""
    own = wordings.intents.get(name, Wordings())
    intent = Wordings(own.names or wordings.names, own.descriptions or wordings.descriptions)
    return msgspec.structs.replace(wordings, names=(), intents={**wordings.intents, name: intent})


def _reader(definition: Definition) -> ArgumentReader:
    return ArgumentReader(definition.function["name"], description_of(definition.function), definition.schema)


def _rewrite(definition: Definition, old: Service, new: Service, functions: mentions.Names) -> dict[str, Any]:
    """A function with the new names put in."""
    # Nothing in the copy is shared: places are told apart by identity.
    copy = definition._replace(function=msgspec.json.decode(msgspec.json.encode(definition.function)))
    reader = _reader(copy)
    reader.service()
    names = functions | mentions.arguments(old, new)
    function = {**copy.function, "name": new.intents[0].name}
    if "description" in function:
        function["description"] = new.intents[0].description
    for holder in (function, function.get("annotations")):  # MCP has titles in both places
        if isinstance(holder, dict) and isinstance(holder.get("title"), str):
            holder["title"] = mentions.rename_title(holder["title"], old.intents[0].name, new.intents[0].name)
    if definition.parameters:
        slots = {a.name: b for a, b in zip(old.slots, new.slots, strict=True)}
        schema = ArgumentWriter(reader, slots, names).rename(reader.root)
        title = reader.root.get("title")
        if isinstance(title, str) and title.startswith(old.name):  # "get_weatherArguments"
            schema["title"] = mentions.rename_title(title, old.name, new.intents[0].name)
        function = replace_at(function, definition.parameters, schema)
    return function
