"""What the two made-up trackers predict on perturbed dialogues and under reworded schemas: rules, applied once.

    python -m tests.demo_predictions

writes the bundled files anew. Nobody ran a model: each tracker has the habits of its kind, and what it predicts
follows from them and from its predictions on the dialogues as they were written.

`hasty` keeps a state and adds what a turn tells. It takes the value that it hears first, so a slip of the tongue stays.
A name that it does not know becomes the nearest that it does. What is not said word for word it finds by the turn's
wording, and loses when that changes. It knows slots by their names.

`sturdy` reads the whole dialogue anew each turn, so its slips do not stay. It copies names, but in the turn in which
one falls it may cut it at an apostrophe. It waits a turn when somebody says "sorry" amid a sentence, or says little of
what was said before. It knows slots by their names or by what their descriptions say.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rapidfuzz import fuzz, process

from troth import demo, readers
from troth.core.records import Dialogue, Schema, Turn
from troth.demo import run as runner
from troth.perturb.schemas.renaming import Renaming, rename_dialogue

TRACKERS = ("hasty", "sturdy")
SAME = 85  # of 100: how like a name a misspelt one is
COMMON = frozenset(
    re.findall(r"\w+", "a an and at be for how if in is it many of on one or that the there they to what when where")
)

States = dict[str, dict[str, str]]  # service to slot to value
Heard = Callable[[str, str, str, int], str | None]  # service, slot, value, user turn: what it is taken for


def dialogues(path: str) -> dict[str, Dialogue]:
    return {found.id: found for found in readers.read(path) if isinstance(found, Dialogue)}


def states(turn: Turn) -> States:
    return {f.service: {s: v[0] for s, v in f.state.slot_values.items()} for f in turn.frames if f.state}


def hasty(pred: Dialogue, heard: Heard) -> Iterator[States]:
    """Its own state, with every change of the original one as it is heard."""
    before: States = {}
    mine: States = {}
    for number, turn in pred.user_turns():
        now = states(turn)
        for service, slots in now.items():
            held, was = mine.setdefault(service, {}), before.get(service, {})
            for slot in was.keys() - slots.keys():
                held.pop(slot, None)
            for slot, value in slots.items():
                if was.get(slot) == value:
                    continue
                taken = heard(service, slot, value, number)
                if taken is None:
                    held.pop(slot, None)
                else:
                    held[slot] = taken
        before |= now
        yield {service: dict(mine[service]) for service in now}


def sturdy(pred: Dialogue, heard: Heard) -> Iterator[States]:
    """Every turn anew: the original state, with what is new in this turn as it is heard."""
    before: States = {}
    for number, turn in pred.user_turns():
        now = states(turn)
        made: States = {}
        for service, slots in now.items():
            was = before.get(service, {})
            for slot, value in slots.items():
                taken = heard(service, slot, value, -1 if was.get(slot) == value else number)
                if taken is not None:
                    made.setdefault(service, {})[slot] = taken
            made.setdefault(service, {})
        before |= now
        yield made


# -- what is heard -----------------------------------------------------------------------------------------------------


class Ears:
    """One tracker at one dialogue and its twin."""

    def __init__(self, tracker: str, gold: Dialogue, twin: Dialogue, known: dict[str, list[str]]) -> None:
        self.tracker, self.known = tracker, known
        self.said = [turn.text for _, turn in gold.user_turns()]
        self.now = [turn.text for _, turn in twin.user_turns()]
        self.system = ["", *(turn.text for turn in twin.turns if turn.speaker == "SYSTEM")]
        self.names = dict(_renamed(gold, twin))

    def __call__(self, service: str, slot: str, value: str, turn: int) -> str | None:
        name = self.name(value)
        if name != value:
            return self.new_name(f"{service}.{slot}", name, turn)
        if turn < 0 or self.said[turn] == self.now[turn]:
            return value
        slip = next((v for v in self.known.get(f"{service}.{slot}", ()) if self.slips(v, value, turn)), None)
        if slip is not None:
            return slip if self.tracker == "hasty" else None if ", sorry, " in self.now[turn] else value
        return value if self.found(value, turn) else None

    def slips(self, other: str, value: str, turn: int) -> bool:
        return other != value and f"{other}, " in self.now[turn] and other not in self.said[turn]

    def found(self, value: str, turn: int) -> bool:
        """Whether a turn that is worded otherwise still gives what it does not say word for word."""
        if value.lower() in f"{self.system[turn]} {self.now[turn]}".lower():
            return True
        before, after = ([w for w in _words(text) if w not in COMMON] for text in (self.said[turn], self.now[turn]))
        kept = sum(word in after for word in before) / max(len(before), 1)
        return kept >= (0.8 if self.tracker == "hasty" else 0.4)

    def name(self, value: str) -> str:
        """The twin's name for a name of the original; one that was misspelt stays so."""
        exact = self.names.get(value)
        if exact is not None:
            return exact
        close = process.extractOne(value.lower(), [name.lower() for name in self.names], score_cutoff=SAME)
        return value if close is None else list(self.names.values())[close[2]].lower()

    def new_name(self, slot: str, name: str, turn: int) -> str | None:
        if self.tracker == "sturdy":
            return name.partition("'")[0] if turn >= 0 else name
        if name in self.system[turn]:
            return name
        nearest = process.extractOne(name.lower(), [n.lower() for n in self.known[slot]], scorer=fuzz.ratio)
        return self.known[slot][nearest[2]]


def _renamed(gold: Dialogue, twin: Dialogue) -> Iterator[tuple[str, str]]:
    for old, new in zip(gold.turns, twin.turns, strict=True):
        for ours, theirs in zip(old.frames, new.frames, strict=True):
            if ours.state and theirs.state:
                pairs = zip(ours.state.slot_values.values(), theirs.state.slot_values.values(), strict=True)
                yield from ((a, b) for before, after in pairs for a, b in zip(before, after, strict=True) if a != b)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def values(gold: dict[str, Dialogue]) -> dict[str, list[str]]:
    """Every value of every slot, in the order of the dialogues."""
    found: dict[str, dict[str, None]] = {}
    for dialogue in gold.values():
        for _, turn in dialogue.user_turns():
            for frame in turn.frames:
                for slot, alternatives in frame.state.slot_values.items() if frame.state else ():
                    found.setdefault(f"{frame.service}.{slot}", {}).update(dict.fromkeys(alternatives))
    return {slot: list(known) for slot, known in found.items()}


def on_twins(tracker: str, gold: dict[str, Dialogue], twins: dict[str, Dialogue]) -> Iterator[bytes]:
    known = values(gold)
    replay = hasty if tracker == "hasty" else sturdy
    for id, pred in dialogues(demo.path(tracker)).items():
        yield from _lines(id, replay(pred, Ears(tracker, gold[id], twins[id], known)))


# -- reworded schemas --------------------------------------------------------------------------------------------------


def under_wording(tracker: str, original: Schema, variant: Schema) -> Iterator[bytes]:
    """Under the variant's names; a slot that the tracker does not recognise stays empty."""
    renaming = Renaming.between(original, variant)
    strange = set(_strange(tracker, original, variant))
    for id, pred in dialogues(demo.path(tracker)).items():
        found = rename_dialogue(pred, renaming)
        names = zip(pred.user_turns(), found.user_turns(), strict=True)
        made = []
        for (_, old), (_, new) in names:
            state: States = {}
            for ours, theirs in zip(old.frames, new.frames, strict=True):
                if ours.state and theirs.state:
                    pairs = zip(ours.state.slot_values, theirs.state.slot_values.items(), strict=True)
                    kept = {slot: v[0] for name, (slot, v) in pairs if (ours.service, name) not in strange}
                    state[theirs.service] = kept
            made.append(state)
        yield from _lines(id, iter(made))


def _strange(tracker: str, original: Schema, variant: Schema) -> Iterator[tuple[str, str]]:
    for old, new in zip(original.values(), variant.values(), strict=True):
        for ours, theirs in zip(old.slots, new.slots, strict=True):
            by_name = {*ours.name.split("_")} & {*theirs.name.split("_")} - COMMON
            by_description = {*_words(ours.description)} & {*_words(theirs.description)} - COMMON
            if not by_name and (tracker == "hasty" or not by_description):
                yield old.name, ours.name


def _lines(id: str, found: Iterator[States]) -> Iterator[bytes]:
    for number, state in enumerate(found):
        yield msgspec.json.encode({"dialogue": id, "turn": number, "state": state}) + b"\n"


def files() -> dict[str, bytes]:
    """Every bundled file of predictions, by its place in the data."""
    gold = dialogues(demo.path("gold"))
    original = readers.schema(demo.path("gold/schema.json"))
    made: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        twins = runner.write_twins(runner.WRITTEN, Path(folder) / "twins")
        variants = runner.write_wordings(runner.WRITTEN, Path(folder) / "wordings")
        for tracker in TRACKERS:
            for name, path in twins.items():
                made[f"twins/{tracker}-{name}.jsonl"] = b"".join(on_twins(tracker, gold, dialogues(str(path))))
            for name in variants:
                variant = readers.schema(f"{folder}/wordings/{name}/schema.json")
                made[f"wordings/{tracker}-{name}.jsonl"] = b"".join(under_wording(tracker, original, variant))
    return made


def main() -> None:
    for name, data in files().items():
        place = Path(demo.path(name))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        print(f"{name}: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
