"""Dialogues as a tracker sees them: one `TrackerTurn` per user turn, with schema, utterances and states.

A `TrackerCorpus` holds dialogues of any format that troth reads. Few-shot training takes some of them (`shots`);
augmentation adds dialogues once more, under other wordings of the schema (SGD-X, §4.2) or as perturbed twins, made when
their turns are asked for and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any

import msgspec

from troth import readers
from troth.core.errors import UserError, suggest_name
from troth.core.names import Path, path_of
from troth.core.randomness import generator
from troth.core.records import Act, Dialogue, Intent, Schema, Service, SlotSchema, State, Turn
from troth.perturb.options import configure
from troth.perturb.schemas.files import SchemaSource, load
from troth.perturb.schemas.generators import GENERATORS, Generator
from troth.perturb.schemas.renaming import Renaming, rename_dialogue
from troth.readers import source
from troth.readers.shots import Shots, draw, sample
from troth.systems.augmentation import BACK_TRANSLATION, CORRUPTION, ORACLE, SCHEMA, TwinMaker, parse_augmentation

ServiceStates = Mapping[str, State]  # by service
Spelling = Callable[[str], str]
BACK_TRANSLATIONS = 3  # as many as the paper has


class TrackerTurn(msgspec.Struct, frozen=True, gc=False):
    """A user turn: the input of a tracker, and the gold states."""

    dialogue: str
    number: int  # of the user turn, from 0
    services: tuple[Service, ...]  # the services to predict states for
    past: tuple[Turn, ...]  # all turns before it, oldest first
    turn: Turn
    before: ServiceStates  # after the user turn before: gold in training, the tracker's own when it runs

    @property
    def user(self) -> str:
        return self.turn.text

    @property
    def system(self) -> str:
        """The previous system utterance; empty at the beginning."""
        return self._answer.text if self._answer is not None else ""

    @property
    def history(self) -> list[tuple[str, str]]:
        """Speaker ("USER" or "SYSTEM") and text of everything said before this turn, oldest first."""
        return [(turn.speaker, turn.text) for turn in self.past]

    @property
    def acts(self) -> dict[str, tuple[Act, ...]]:
        """The acts of the previous system utterance, by service; empty where the data has none."""
        return {} if self._answer is None else {frame.service: frame.acts for frame in self._answer.frames}

    @property
    def gold(self) -> dict[str, State]:
        """The states after this turn, by service; a service without an annotation has an empty one."""
        states = {frame.service: frame.state for frame in self.turn.frames if frame.state is not None}
        return {service.name: states.get(service.name, State()) for service in self.services}

    @property
    def _answer(self) -> Turn | None:
        return self.past[-1] if self.past and self.past[-1].speaker == "SYSTEM" else None


class Wording(msgspec.Struct, frozen=True):
    """A variant of the schema, and its names for the elements of the original."""

    name: str
    schema: Schema
    renaming: Renaming


@dataclass(frozen=True)
class TrackerCorpus:
    """Dialogues with their schema, under its own words and, for training, under those of variants."""

    path: str
    dialogues: Sequence[Dialogue]
    schema: Schema
    complete: bool  # every turn holds the states of all services (MultiWOZ), not only of those it is about (SGD)
    wordings: tuple[Wording, ...] = ()
    share: float = 1.0  # of the dialogues that are added under each wording
    twins: Mapping[str, float] = field(default_factory=dict)  # share of the dialogues that get a twin, by its kind
    seed: int = 0  # random seed of the shares
    spell: Spelling | None = None  # how the annotation of this format spells a value; None: as it was said

    @classmethod
    def read(cls, data: Path, *, schema: Path | None = None, format: str | None = None) -> TrackerCorpus:
        """The dialogues of a file or folder. For a format without a schema, one is inferred from the dialogues."""
        path = path_of(data)
        name = format or readers.detect(path)
        dialogues = list(readers.gold(path, name))
        if not dialogues:
            raise UserError("no dialogue in it", file=path, hint="is it the right file?")
        services = readers.schema_beside(path) if schema is None else readers.schema(path_of(schema))
        complete = getattr(readers.FORMATS.load(name), "completed", None)
        spell: Spelling | None = None
        if services is None and complete is not None:
            whole = complete(dialogues)
            dialogues, spell = list(whole), whole.spell
            services = whole.tracker_schema()
        return cls(path, dialogues, services or _infer_schema(dialogues), complete=name != "sgd", spell=spell)

    def only(self, services: Sequence[str]) -> TrackerCorpus:
        """The dialogues with no services other than these; all if none is named."""
        known = dict.fromkeys(service for dialogue in self.dialogues for service in dialogue.services)
        for name in services:
            if name not in known:
                hint = suggest_name(name, known) or "services: " + ", ".join(sorted(known))
                raise UserError(f"has '{name}', which no dialogue is about", option="services", hint=hint)
        wanted = [
            dialogue for dialogue in self.dialogues if dialogue.services and set(dialogue.services) <= set(services)
        ]
        if services and not wanted:
            raise UserError("leaves no dialogue", option="services", hint="dialogues may be about more services")
        return replace(self, dialogues=wanted) if services else self

    def sample(self, shots: Shots, seed: int = 0) -> TrackerCorpus:
        """Some of the dialogues, for few-shot training.

        `shots` is a share of the dialogues (0.05, or "5%"), a number of dialogues with a single service for each domain
        (50, as in CheckDST), a file of dialogue ids, one per line, or a list of ids.
        """
        if shots is None:
            return self
        return replace(self, dialogues=sample(self.dialogues, shots, seed))

    def first(self, count: int | None, seed: int = 0) -> TrackerCorpus:
        """A number of dialogues, drawn by the seed; all for None."""
        if count is None or count >= len(self.dialogues):
            return self
        return replace(self, dialogues=draw(self.dialogues, count, seed))

    def augment(
        self,
        augment: str | Sequence[str] | None,
        *,
        schemas: Path | None = None,
        engines: Sequence[str] = (),
        seed: int = 0,
    ) -> TrackerCorpus:
        """The same dialogues, and more under variants of the schema or as twins: names and shares of `augmentation`.

        `schemas`: the folder of the variants' schemas, as SGD-X has them, for "oracle" and for "schema"; without one,
        "schema" corrupts the schema. `engines`: for "backtranslate", the translators, such as "apertium:eng-spa" or
        "marian:THERE,BACK"; the usual ones if empty.
        """
        added = parse_augmentation(augment)
        if engines and added.wordings != BACK_TRANSLATION:
            hint = "leave it out, or augment in this way"
            raise UserError(f"is only for the augmentation '{BACK_TRANSLATION}'", option="engines", hint=hint)
        if added.wordings == ORACLE and schemas is None:
            raise UserError(
                f"'{ORACLE}' needs the schemas of the variants", option="augment", hint="a folder, as SGD-X has them"
            )
        wordings: list[Wording] = []
        if added.wordings:
            generated = added.wordings if added.wordings != SCHEMA else CORRUPTION
            how = path_of(schemas) if schemas is not None and added.wordings in (ORACLE, SCHEMA) else generated
            wordings = self.reword_schema(variants_from(how, seed, engines))
        return replace(self, wordings=tuple(wordings), share=added.share, twins=added.twins, seed=seed)

    def reword_schema(self, generator: Generator) -> list[Wording]:
        """The schema as a generator words it."""
        own = readers.schema_beside(self.path) == self.schema
        document = msgspec.to_builtins(list(self.schema.values()))
        schema = load(self.path) if own else SchemaSource(self.path, "schema", self.schema, document)
        return [
            Wording(variant.name, _services(variant.files[source.SCHEMA]), variant.renaming)
            for variant in generator.vary(schema)
        ]

    def turns(self) -> Iterator[TrackerTurn]:
        """Every user turn, with gold states before it: of a dialogue, then of what augmentation adds to it."""
        twins = TwinMaker(self.dialogues, self.schema, self.twins, self.seed)
        for dialogue in self.dialogues:
            yield from turns_of(dialogue, self.schema, complete=self.complete)
            rng = generator(self.seed, "wordings", dialogue.id)
            for wording in self.wordings:
                if self.share == 1 or rng.random() < self.share:
                    yield from self._turns_under(wording, dialogue)
            for twin in twins.make(dialogue):
                yield from self._turns_under(rng.choice((None, *self.wordings)), twin)

    def _turns_under(self, wording: Wording | None, dialogue: Dialogue) -> Iterator[TrackerTurn]:
        if wording is None:
            return turns_of(dialogue, self.schema, complete=self.complete)
        return turns_of(rename_dialogue(dialogue, wording.renaming), wording.schema, complete=self.complete)


def turns_of(dialogue: Dialogue, schema: Schema, *, complete: bool) -> Iterator[TrackerTurn]:
    """The user turns of a dialogue. `complete`: all services of the schema are asked for, not only those annotated."""
    numbers = iter([number for number, _ in dialogue.user_turns()])
    before: dict[str, State] = {}
    for index, turn in enumerate(dialogue.turns):
        if turn.speaker != "USER":
            continue
        names = schema if complete else dict.fromkeys(frame.service for frame in turn.frames)
        unknown = next((name for name in names if name not in schema), None)
        number = next(numbers)
        if unknown is not None:
            what = f"service '{unknown}' is not in the schema"
            raise UserError(what, dialogue=dialogue.id, turn=number, hint="name the schema that belongs to the data")
        services = tuple(schema[name] for name in names)
        user_turn = TrackerTurn(dialogue.id, number, services, dialogue.turns[:index], turn, dict(before))
        yield user_turn
        before |= user_turn.gold


def variants_from(how: str, seed: int, engines: Sequence[str] = ()) -> Generator:
    """Where variants of a schema come from: "backtranslate", "corrupt", a file of paraphrases, or a folder of schemas.

    A folder has them as SGD-X does. `engines`: the translators of "backtranslate"; the usual ones if empty.
    """
    if how == BACK_TRANSLATION:
        named = {"engines": tuple(engines)} if engines else {}
        options: tuple[str, dict[str, Any]] = how, {"count": BACK_TRANSLATIONS, **named}
    elif how == CORRUPTION:
        options = how, {"seed": seed}
    elif File(how).is_file():
        options = "compose", {"paraphrases": how, "seed": seed}
    elif File(how).is_dir():
        options = "published", {"folder": how}
    else:
        hint = "backtranslate, corrupt, a file of paraphrases, or a folder of schemas as SGD-X has them"
        raise UserError(f"variants of the schema cannot come from '{how}'", hint=hint)
    return configure(GENERATORS, *options)


def _services(document: bytes) -> Schema:
    return {service.name: service for service in msgspec.json.decode(document, type=list[Service])}


def _infer_schema(dialogues: Sequence[Dialogue]) -> Schema:
    """The services, slots and intents that the states of some dialogues name, without descriptions."""
    slots: dict[str, dict[str, None]] = {}
    intents: dict[str, dict[str, None]] = {}
    for frame in (frame for dialogue in dialogues for turn in dialogue.turns for frame in turn.frames):
        mine = slots.setdefault(frame.service, {})
        if frame.state is not None:
            mine.update(dict.fromkeys(frame.state.slot_values))
            if frame.state.active_intent not in (None, "NONE"):
                intents.setdefault(frame.service, {})[frame.state.active_intent or ""] = None
    return {
        name: Service(
            name,
            slots=tuple(SlotSchema(slot) for slot in sorted(mine)),
            intents=tuple(Intent(intent) for intent in sorted(intents.get(name, {}))),
        )
        for name, mine in sorted(slots.items())
    }
