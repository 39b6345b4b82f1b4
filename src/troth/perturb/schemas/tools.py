"""An assistant's tools as a schema: function definitions in any layout that `readers.tools` knows, read and written.

Each function is a service with one intent, since arguments of one name need not mean the same in two functions.
Arguments are slots (`schemas.arguments`). Enumerations and booleans are categorical. Tools that are no functions are
passed through.

A variant is written into a copy of the definitions, so all that is not a name, a title or a description stays as it
was, to the letter. Titles follow the names, and so do texts that mention the name of a function or of an argument.
"""

from __future__ import annotations

from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Schema, Service
from troth.perturb.schemas import mentions
from troth.perturb.schemas.arguments import ArgumentReader, ArgumentWriter, described
from troth.perturb.schemas.calls import FunctionNames
from troth.readers.tools import PARAMETERS, Definition, definitions, replace_at
from troth.text.identifiers import make_unique

NO_FUNCTION = '{"type": "function", "function": {"name": …}}'


class ToolDefinitions(msgspec.Struct, frozen=True):
    """Definitions as they were given, and what they say as a schema."""

    document: Any
    schema: Schema

    def written(self, variant: Schema) -> Any:
        """The definitions under a variant's names and descriptions; under the schema's own, just as they were given."""
        document = self.document
        functions = mentions.functions(self.schema, variant)
        services = zip(self.schema.values(), variant.values(), strict=True)
        for one, (old, new) in zip(definitions(document), services, strict=True):
            document = replace_at(document, one.path, _written(one, old, new, functions))
        return document

    def names(self, variant: Schema) -> dict[str, FunctionNames]:
        """New names to old ones, by function: what a call made under a variant is brought back with."""
        names = {}
        services = zip(self.schema.values(), variant.values(), strict=True)
        for one, (old, new) in zip(definitions(self.document), services, strict=True):
            arguments = {b.name: a.name for a, b in zip(old.slots, new.slots, strict=True)}
            renamed = {a: b for b, a in arguments.items()}
            reader = _reader(one)
            reader.service()
            same = {renamed[place]: renamed.get(first, first) for place, first in reader.same.items()}
            names[new.intents[0].name] = FunctionNames(old.intents[0].name, arguments, same)
        return names


def detect(document: Any) -> bool:
    """Whether a JSON document is a list of tools, by what is in it."""
    if not isinstance(document, list | dict):
        return False
    try:
        functions = [one.function for one in definitions(document)]
    except UserError:  # tools with something wrong in them: `read` says what
        return True
    return any(key in function for function in functions for key in ("description", *(keys[0] for keys in PARAMETERS)))


def read(document: Any) -> ToolDefinitions:
    """Function definitions with their schema."""
    if not isinstance(document, list | dict):
        raise UserError("is neither a list nor an object", hint="a list of tools is expected")
    schema: Schema = {}
    for one in definitions(document):
        service = _reader(one).service()
        if service.name in schema:
            raise UserError(f"function '{service.name}' is defined twice", hint="remove one")
        schema[service.name] = service
    if not schema:
        raise UserError("no function is defined in it", hint=NO_FUNCTION)
    return ToolDefinitions(document, schema)


def distinct(schema: Schema, variant: Schema, *, strict: bool) -> Schema:
    """A variant in which no two functions have one name, and mentions of names in descriptions follow the names.

    Of two functions of one name, the later is numbered, or (`strict`) refused. Without `strict`, no function gets the
    name that another one has in `schema`.
    """
    taken: set[str] = set()
    services: Schema = {}
    for old, (key, service) in zip(schema.values(), variant.items(), strict=True):
        intent = service.intents[0]
        if intent.name in taken and strict:
            raise UserError(f"two functions would be called '{intent.name}'", hint="give other paraphrases")
        name = make_unique(intent.name, taken if strict else taken | schema.keys() - {old.name})
        taken.add(name)
        services[key] = msgspec.structs.replace(service, intents=(msgspec.structs.replace(intent, name=name),))
    return mentions.followed(schema, services)


def _reader(one: Definition) -> ArgumentReader:
    return ArgumentReader(one.function["name"], described(one.function), one.schema)


def _written(one: Definition, old: Service, new: Service, functions: mentions.Names) -> dict[str, Any]:
    """A function with the new names put in."""
    # Nothing in the copy is shared: places are told apart by identity.
    alone = one._replace(function=msgspec.json.decode(msgspec.json.encode(one.function)))
    reader = _reader(alone)
    reader.service()
    names = functions | mentions.arguments(old, new)
    written = {**alone.function, "name": new.intents[0].name}
    if "description" in written:
        written["description"] = new.intents[0].description
    for holder in (written, written.get("annotations")):  # MCP has titles in both places
        if isinstance(holder, dict) and isinstance(holder.get("title"), str):
            holder["title"] = mentions.retitled(holder["title"], old.intents[0].name, new.intents[0].name)
    if one.parameters:
        slots = {a.name: b for a, b in zip(old.slots, new.slots, strict=True)}
        schema = ArgumentWriter(reader, slots, names).renamed(reader.root)
        title = reader.root.get("title")
        if isinstance(title, str) and title.startswith(old.name):  # "get_weatherArguments"
            schema["title"] = mentions.retitled(title, old.name, new.intents[0].name)
        written = replace_at(written, one.parameters, schema)
    return written
