"""Variants of a schema: the same services in other words, sorted by distance (SGD-X, §2.2 and §4.2).

Paraphrases of names and descriptions come from people (a file), from back-translation, or from random replacement and
reordering of words. `compose` sorts the names of an element by Levenshtein distance from the original, its descriptions
by Jaccard distance of lemmas, and uses the first of each for v1, the second for v2, … With `paired`, a name and the
description at the same place in the list stay together. The slots of an intent are renamed with it; possible values do
not change. As in SGD-X, the number of the variant is appended to the name of a
service: Banks_2 is Banks_21 in v1.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import pairwise, product
from typing import Any

import msgspec
from rapidfuzz.distance import Levenshtein

from troth.core.errors import UserError, suggest_name
from troth.core.randomness import generator
from troth.core.records import Intent, Schema, Service, SlotSchema
from troth.perturb.schemas.lemmas import jaccard, stop_words
from troth.perturb.schemas.renaming import elements
from troth.perturb.translate import Translator
from troth.text.identifiers import make_identifier, make_unique, split_identifier

PUBLISHED = 5  # number of variants in SGD-X


class Wordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Other wordings of a slot or an intent. Without any, it does not change."""

    names: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()


class ServiceWordings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Other wordings of a service and its slots and intents."""

    descriptions: tuple[str, ...] = ()
    slots: dict[str, Wordings] = {}
    intents: dict[str, Wordings] = {}
    names: tuple[str, ...] = ()  # of a tool; the names of services are numbered


Paraphrases = dict[str, ServiceWordings]  # by service


class ThereAndBack:
    """Back-translation: one wording per translator, then per sequence of translators, until there are enough."""

    def __init__(self, translators: Sequence[Translator], count: int | None) -> None:
        steps = [
            route
            for length in range(1, 4)
            for route in product(translators, repeat=length)
            if len(translators) == 1 or all(a is not b for a, b in pairwise(route))
        ]
        self.routes = steps[: count or len(translators)]
        if len(self.routes) < (count or 1):
            hint = f"{len(self.routes)} are possible: name more engines"
            raise UserError(f"too few translation routes for {count} variants", hint=hint)

    def paraphrase(self, texts: Sequence[str]) -> list[list[str]]:
        """Other wordings of each text."""
        texts_by_route: dict[tuple[Translator, ...], list[str]] = {(): list(texts)}
        for route in self.routes:
            for end in range(1, len(route) + 1):
                if route[:end] not in texts_by_route:
                    texts_by_route[route[:end]] = route[end - 1].there_and_back(texts_by_route[route[: end - 1]])
        return [list(wordings) for wordings in zip(*(texts_by_route[route] for route in self.routes), strict=True)]


def translate_schema(schema: Schema, engine: ThereAndBack) -> Paraphrases:
    """Back-translates names (as words) and descriptions, all texts of a schema in one batch."""
    every = [text for service in schema.values() for _, text in texts(service)]
    paraphrases = iter(engine.paraphrase([text for text in every if text]))
    said = iter([next(paraphrases) if text else [] for text in every])
    return {service.name: wordings(service, lambda *_: tuple(next(said))) for service in schema.values()}


def corrupt_schema(schema: Schema, *, count: int = PUBLISHED, seed: int = 0, rate: float) -> Paraphrases:
    """Replaces words by other words of the schema, and swaps neighbours, both with probability `rate`."""
    every = [item for service in schema.values() for item in elements(service)]
    names = sorted({word for item in every for word in split_identifier(item.name)})
    plain = [*(item.description for item in every), *(service.description for service in schema.values())]
    described = sorted({word for text in plain for word in text.split()})

    def corrupt(service: Service, element: str, text: str) -> tuple[str, ...]:
        rng = generator(seed, "corrupt", f"{service.name}/{element}")
        vocabulary = names if element.endswith("/name") else described
        return tuple(_corrupt(text, vocabulary, rng, rate) for _ in range(count)) if text else ()

    return {service.name: wordings(service, corrupt) for service in schema.values()}


def _corrupt(text: str, vocabulary: Sequence[str], rng: random.Random, rate: float) -> str:
    words = [rng.choice(vocabulary) if rng.random() < rate else word for word in text.split()]
    for i in range(len(words) - 1):
        if rng.random() < rate:
            words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def texts(service: Service) -> Iterator[tuple[str, str]]:
    """Every text of a service with its path (`slots/city/name`), in the order in which `wordings` uses them."""
    yield "description", service.description
    for kind, items in (("slots", service.slots), ("intents", service.intents)):
        for item in items:
            yield f"{kind}/{item.name}/name", " ".join(split_identifier(item.name))
            yield f"{kind}/{item.name}/description", item.description


def wordings(service: Service, say: Callable[[Service, str, str], tuple[str, ...]]) -> ServiceWordings:
    """Wordings of all texts of a service; `say` is called with the service, the path of the element and its text."""
    said = {path: say(service, path, text) for path, text in texts(service)}

    def element(path: str) -> Wordings:
        return Wordings(said[f"{path}/name"], said[f"{path}/description"])

    slots = {slot.name: element(f"slots/{slot.name}") for slot in service.slots}
    intents = {intent.name: element(f"intents/{intent.name}") for intent in service.intents}
    return ServiceWordings(said["description"], slots, intents)


def compose(
    schema: Schema,
    paraphrases: Paraphrases,
    *,
    count: int = PUBLISHED,
    seed: int = 0,
    strict: bool = True,
    stop: str = "paper",
    paired: bool = False,
) -> list[Schema]:
    """The variants, the closest first.

    `strict`: an element with paraphrases must have at least `count` different ones, and `count` of them are drawn, and
    names of a service must differ. Otherwise paraphrases are repeated and equal names numbered. `stop`: the stop words
    that are left out of distances, "paper" or "published". `paired`: where an element has as many names as
    descriptions, they are pairs, which are sorted by the distance of the names.
    """
    _check(schema, paraphrases)
    variants: list[Schema] = [{} for _ in range(count)]
    for service in schema.values():
        own = paraphrases.get(service.name, ServiceWordings())
        order = _Order(service, own, count, seed, strict, stop_words(stop), paired)
        for index, variant in enumerate(variants):
            service_variant = order.variant(index)
            variant[service_variant.name] = service_variant
    return variants


class _Order:
    """The wordings of one service, sorted for each element from the closest to the farthest."""

    def __init__(
        self, service: Service, wordings: ServiceWordings, count: int, seed: int, strict: bool, stop: Set[str],
        paired: bool = False,
    ) -> None:  # fmt: skip
        self.paired = paired
        self.service, self.count, self.seed, self.strict, self.stop = service, count, seed, strict, stop
        self.description = self._order_descriptions("description", service.description, wordings.descriptions)
        self.slots = [self._order_element("slot", slot, wordings.slots) for slot in service.slots]
        self.intents = [self._order_element("intent", intent, wordings.intents) for intent in service.intents]

    def _order_element(
        self, kind: str, item: SlotSchema | Intent, every: Mapping[str, Wordings]
    ) -> tuple[list[str], list[str]]:
        what, wordings = f"{kind} '{item.name}'", every.get(item.name, Wordings())
        if self.paired and len(wordings.names) == len(wordings.descriptions) > 0:
            return self._order_pairs(what, item.name, wordings)
        styled = [make_identifier(name, item.name) for name in wordings.names]
        names = self._draw(f"{what}: names", [name for name in styled if name], item.name)
        names.sort(key=lambda name: Levenshtein.distance(item.name, name))
        return names, self._order_descriptions(f"{what}: descriptions", item.description, wordings.descriptions)

    def _order_pairs(self, what: str, name: str, wordings: Wordings) -> tuple[list[str], list[str]]:
        """Names and descriptions that belong together, the closest name first."""
        descriptions = {
            made: text
            for written, text in zip(wordings.names, wordings.descriptions, strict=True)
            if (made := make_identifier(written, name))
        }
        names = self._draw(f"{what}: names", list(descriptions), name)
        names.sort(key=lambda made: Levenshtein.distance(name, made))
        return names, [descriptions.get(made, "") for made in names]

    def _order_descriptions(self, what: str, original: str, texts: Sequence[str]) -> list[str]:
        descriptions = self._draw(what, [" ".join(text.split()) for text in texts if text.strip()], original)
        descriptions.sort(key=lambda text: jaccard(original, text, self.stop))
        return descriptions

    def _draw(self, what: str, wordings: Sequence[str], original: str) -> list[str]:
        if not wordings:
            return [original] * self.count
        if not self.strict:
            return [wordings[i % len(wordings)] for i in range(self.count)]
        distinct = list(dict.fromkeys(wordings))
        if len(distinct) < self.count:
            error = f"{self.service.name}, {what}: {len(distinct)} different ones for {self.count} variants"
            raise UserError(error, hint=f"add more, or make {len(distinct)} variants")
        drawn = generator(self.seed, "compose", f"{self.service.name}/{what}").sample(range(len(distinct)), self.count)
        return [distinct[i] for i in sorted(drawn)]

    def variant(self, index: int) -> Service:
        old = self.service
        slots = self._names([slot.name for slot in old.slots], [names[index] for names, _ in self.slots], index)
        intents = self._names([item.name for item in old.intents], [names[index] for names, _ in self.intents], index)
        return Service(
            f"{old.name}{index + 1}",
            self.description[index],
            tuple(
                msgspec.structs.replace(slot, name=slots[slot.name], description=texts[index])
                for slot, (_, texts) in zip(old.slots, self.slots, strict=True)
            ),
            tuple(
                _follow(msgspec.structs.replace(item, name=intents[item.name], description=texts[index]), slots)
                for item, (_, texts) in zip(old.intents, self.intents, strict=True)
            ),
        )

    def _names(self, old: Sequence[str], new: Sequence[str], index: int) -> dict[str, str]:
        """New names by old names, all different; a slot inside another (`address.city`) moves with it.

        If not `strict`, a new name is never the original name of another slot.
        """
        names: dict[str, str] = {}
        for before, after in zip(old, new, strict=True):
            parent = before.rpartition(".")[0]
            siblings = [other for other in old if other != before and other.rpartition(".")[0] == parent]
            moved_names = [after, *siblings]
            if parent in names:  # the last part of a dotted name, inside the new name of its parent
                moved_names = [f"{names[parent]}.{other.rpartition('.')[2]}" for other in moved_names]
            name, *original = moved_names
            if name in names.values() and self.strict:
                what = f"{self.service.name}: two of v{index + 1} would be called '{name}'"
                raise UserError(what, hint="use other paraphrases, or another seed")
            reserved = set() if self.strict else set(original)
            names[before] = make_unique(name, reserved | set(names.values()))
        return names


def _follow(intent: Intent, slots: Mapping[str, str]) -> Intent:
    return msgspec.structs.replace(
        intent,
        required_slots=tuple(slots.get(name, name) for name in intent.required_slots),
        optional_slots={slots.get(name, name): value for name, value in intent.optional_slots.items()},
        result_slots=tuple(slots.get(name, name) for name in intent.result_slots),
    )


def _check(schema: Schema, paraphrases: Paraphrases) -> None:
    """Raises an error for paraphrases of an element that is not in the schema: most likely a misspelt name."""
    for name, service in paraphrases.items():
        if name not in schema:
            what = f"paraphrases of '{name}', which is not a service of the schema"
            raise UserError(what, hint=suggest_name(name, schema))
        own = schema[name]
        if service.names:
            raise UserError(f"names of the service {name}", hint="services are numbered; only tools have other names")
        for kind, paraphrased, known in (
            ("slot", service.slots, [slot.name for slot in own.slots]),
            ("intent", service.intents, [intent.name for intent in own.intents]),
        ):
            unknown = next((element for element in paraphrased if element not in known), None)
            if unknown is not None:
                what = f"paraphrases of '{unknown}', which is not a {kind} of {name}"
                raise UserError(what, hint=suggest_name(unknown, known))


FIELDS = frozenset({"name", "description", "required_slots", "optional_slots", "result_slots"})


def reword_document(document: Sequence[Mapping[str, Any]], variant: Schema) -> list[dict[str, Any]]:
    """A schema file as JSON under a variant's names and descriptions; everything else is kept."""
    return [_reword(raw, service) for raw, service in zip(document, variant.values(), strict=True)]


def _reword(raw: Mapping[str, Any], service: Service) -> dict[str, Any]:
    copy = {**raw, "service_name": service.name}
    if "description" in raw:
        copy["description"] = service.description
    for key in raw.keys() & {"slots", "intents"}:
        copy[key] = [
            {**old, **{field: _plain(getattr(item, field)) for field in old if field in FIELDS}}
            for old, item in zip(raw[key], getattr(service, key), strict=True)
        ]
    return copy


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
