"""Pairs to train on: public entailment sets, SGD's training dialogues by appendix B's rules, made-up booleans.

    python -m training.nli.data --shared DIR --sgd DIR --out pairs.jsonl

A line is {"premise", "hypothesis", "label", "from"}. Everything follows from the seed. The last 1,800 lines of
`mnli_dev` and of `snli_dev` are kept out; SGD's dev and test splits are not read.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from training.nli import booleans
from troth import readers
from troth.core.records import Act, Dialogue, Schema, Service
from troth.perturb.schemas.renaming import Renaming
from troth.responses.references import FIXED, candidates, find_slot, is_boolean, slot_description
from troth.responses.tamper import NUMBERS, Pool, Values, classify_act, collect_values, contains_value, means_same

KEPT_OUT = 1800  # the last lines of each public dev set, for measuring
VARIANTS = ("v1", "v2", "v3", "v4", "v5")
LABELS = ("entailment", "neutral", "contradiction")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Pair(NamedTuple):
    premise: str
    hypothesis: str
    label: str
    source: str


def write_pairs(pairs: Iterable[Pair], out: Path) -> None:
    """Writes pairs as JSON lines."""
    with out.open("w", encoding="utf-8") as file:
        for pair in pairs:
            row = {"premise": pair.premise, "hypothesis": pair.hypothesis, "label": pair.label, "from": pair.source}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


class Said(NamedTuple):
    """One system turn's acts of one service, with what went before."""

    previous: str
    utterance: str
    service: str
    acts: tuple[Act, ...]


# -- public sets -------------------------------------------------------------------------------------------------------


def public(folder: Path) -> Iterator[Pair]:
    for name in ("mnli", "snli"):
        lines = (folder / f"{name}_dev.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines[:-KEPT_OUT]:
            row = json.loads(line)
            if row["label"] in LABELS:
                yield Pair(row["premise"], row["hypothesis"], row["label"], name)
    with (folder / "conjnli_adversarial_train_15k.tsv").open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["Label"] in LABELS:
                yield Pair(row["Premise"], row["Hypothesis"], row["Label"], "conjnli")
    for name in ("and", "or"):
        with (folder / f"help_leskexppmb_{name}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                if row["gold_label"] in LABELS:
                    yield Pair(row["ori_sentence"], row["new_sentence"], row["gold_label"], "help")


# -- SGD ---------------------------------------------------------------------------------------------------------------


def service_turns(dialogues: Sequence[Dialogue]) -> list[Said]:
    turns = []
    for dialogue in dialogues:
        for before, turn in zip((None, *dialogue.turns), dialogue.turns, strict=False):
            if turn.speaker == "SYSTEM":
                previous = before.text if before else ""
                turns += [Said(previous, turn.text, frame.service, frame.acts) for frame in turn.frames if frame.acts]
    return turns


class Maker:
    """Makes pairs from system turns: true acts, and acts that are wrong or absent in ways that real systems err."""

    def __init__(self, turns: Sequence[Said], schemas: Sequence[Schema], others: Pool, rng: random.Random) -> None:
        self.schema, self.rng, self.others = schemas[0], rng, others
        self.wordings = [(schema, Renaming.between(schemas[0], schema)) for schema in schemas]
        self.of_service: dict[str, list[Said]] = defaultdict(list)
        for turn in turns:
            self.of_service[turn.service].append(turn)
        self.words = keywords(turns, self.schema)

    def pairs(self, turn: Said, act: Act) -> Iterator[Pair]:
        """The true act and its negatives."""
        service, what, rng = self.schema[turn.service], classify_act(act, self.schema[turn.service]), self.rng
        if what == "boolean":
            yield from self._booleans(turn, act)
            return
        yield self._pair(turn, act, "entailment", what)
        if what == "request":
            yield from self._requests(turn)
        elif what == "act":
            lacking = [name for name in FIXED if all(name != other.act for other in turn.acts)]
            if lacking:
                yield self._pair(turn, Act(rng.choice(lacking)), "neutral", "absent")
        else:
            for wrong in self._wrong(turn, act, what):
                yield self._pair(turn, wrong, "contradiction", what)
        if rng.random() < 0.12:
            yield from self._unsaid(turn)
        if rng.random() < (
            0.6 if what == "intent" else 0.15
        ):  # a true hypothesis, but another utterance: not to be decided by the hypothesis alone
            other = rng.choice(self.of_service[turn.service])
            if not any(o.act == act.act and o.slot == act.slot for o in other.acts) and not _says(other, act):
                yield self._pair(other, act, "neutral", "elsewhere")
        if rng.random() < 0.1:  # a request for what is said, a statement of what is asked
            if what == "request" and (values := self.others.get((service.name, act.slot))):
                asked, canonical = rng.choice(values)
                if not any(contains_value(value, (), turn.utterance) for value in asked):
                    yield self._pair(turn, Act("INFORM", act.slot, asked, canonical), "neutral", "elsewhere")
            elif act.act in ("INFORM", "OFFER") and find_slot(act, service) and what != "count":
                yield self._pair(turn, Act("REQUEST", act.slot), "neutral", "request")

    def _wrong(self, turn: Said, act: Act, what: str) -> Iterator[Act]:
        """The act with a wrong value: most of them near ones."""
        rng, service = self.rng, self.schema[turn.service]
        true = [act, *(other for other in turn.acts if other.slot == act.slot and other.values)]

        def other(values: Values) -> bool:
            return not any(means_same(values, act) for act in true)

        near = list(filter(other, self._near(turn, act, what)))
        wrong = [rng.choice(near)] if near else []
        slot = find_slot(act, service)
        if what == "intent":
            pool: Sequence[Values] = [((intent.name,), ()) for intent in service.intents]
        elif slot and slot.is_categorical:
            pool = [((value,), ()) for value in slot.possible_values]
        else:
            pool = self.others.get((service.name, act.slot), ())
        drawn = list(filter(other, rng.sample(list(pool), min(len(pool), 20))))
        if drawn and (not wrong or rng.random() < 0.6):
            wrong.append(rng.choice(drawn))
        for values, canonical in wrong:
            yield msgspec.structs.replace(act, values=values, canonical_values=canonical)

    def _near(self, turn: Said, act: Act, what: str) -> Iterator[Values]:
        """Values close to the true one: off by little, of the same turn, of the turn before, half exchanged."""
        rng, service, value = self.rng, self.schema[turn.service], act.values[0]
        for other in turn.acts:  # another slot's value of the same sort: the way back for the way there
            if other.slot != act.slot and other.values and classify_act(other, service) == what:
                yield other.values, other.canonical_values
        if what in ("number", "count", "date", "time", "price"):
            in_text = re.findall(r"(?<![\w$:.-])\d{1,3}(?![\w:.-])", f"{turn.utterance} {turn.previous}")
            if what in ("number", "count") and in_text:
                yield (rng.choice(in_text),), ()
            yield (_off(value, rng),), ()
            yield (_off(value, rng),), ()
        if what == "name":
            others = self.others.get((service.name, act.slot), ())
            parts = value.split()
            if len(parts) > 1 and others:
                other_parts = rng.choice(others)[0][0].split()
                mixed = [*parts[:-1], other_parts[-1]] if rng.random() < 0.5 else [other_parts[0], *parts[1:]]
                yield (" ".join(mixed),), ()
            for values, canonical in rng.sample(list(others), min(len(others), 60)):
                if contains_value(values[0], canonical, turn.previous):
                    yield values, canonical
                    break

    def _booleans(self, turn: Said, act: Act) -> Iterator[Pair]:
        flipped = msgspec.structs.replace(act, values=("False" if act.values[0] == "True" else "True",))
        clear = bool(self.words[turn.service, act.slot] & set(_tokens(turn.utterance)))
        for _ in range(3):
            # "Yes, it does" says nothing without what was asked.
            augmented = None if clear else True
            yield self._pair(turn, act, "entailment", "boolean", augmented=augmented)
            yield self._pair(turn, flipped, "contradiction", "boolean", augmented=augmented)

    def _unsaid(self, turn: Said) -> Iterator[Pair]:
        """A yes-or-no slot that nobody spoke of: neither side follows."""
        service = self.schema[turn.service]
        absent = [
            slot
            for slot in service.slots
            if is_boolean(slot)
            and all(other.slot != slot.name for other in turn.acts)
            and not self.words[service.name, slot.name] & set(_tokens(f"{turn.previous} {turn.utterance}"))
        ]
        if absent:
            unsaid = Act("INFORM", self.rng.choice(absent).name, (self.rng.choice(("True", "False")),))
            yield self._pair(turn, unsaid, "neutral", "boolean")

    def _requests(self, turn: Said) -> Iterator[Pair]:
        service = self.schema[turn.service]
        named = {act.slot for act in turn.acts}
        others = [slot for slot in service.slots if slot.name not in named]
        rng = self.rng
        if others:
            slot = rng.choice(others)
            yield self._pair(turn, Act("REQUEST", slot.name), "neutral", "request")
        lacking = [name for name in FIXED if all(name != other.act for other in turn.acts)]
        if lacking and rng.random() < 0.3:
            yield self._pair(turn, Act(rng.choice(lacking)), "neutral", "absent")

    def _pair(self, turn: Said, act: Act, label: str, source: str, *, augmented: bool | None = None) -> Pair:
        """One wording of the schema, one candidate of the act, one form of the premise."""
        rng = self.rng
        schema, renaming = self.wordings[0] if rng.random() < 0.35 else rng.choice(self.wordings[1:])
        names = renaming.names(turn.service)
        service = schema[names.service]
        slot = names.slot(act.slot) if find_slot(act, self.schema[turn.service]) else act.slot
        values = tuple(names.values(act.act, act.slot, act.values)) if act.act == "OFFER_INTENT" else act.values
        worded = Act(act.act, slot, values, act.canonical_values)
        hypothesis = rng.choice(candidates(worded, service))
        if source in ("number", "count") and rng.random() < 0.1:
            hypothesis = re.sub(
                r"\b\d{1,2}$", lambda m: NUMBERS[int(m[0])] if int(m[0]) < len(NUMBERS) else m[0], hypothesis
            )
        if augmented or (augmented is None and rng.random() < 0.35):
            return Pair(premise(turn, worded, service), hypothesis, label, f"sgd:{source}")
        return Pair(turn.utterance, hypothesis, label, f"sgd:{source}")


def premise(turn: Said, act: Act, service: Service) -> str:
    """The augmented premise: previous turn, slot description, utterance (SGSAcc, figure 1)."""
    about = slot_description(act, service)
    return " ".join(filter(None, (turn.previous, f"{about}." if about else "", turn.utterance)))


def keywords(turns: Sequence[Said], schema: Schema) -> dict[tuple[str, str], set[str]]:
    """Per boolean slot the words that betray that a turn speaks of it: far more frequent there than elsewhere."""
    within: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        tokens = set(_tokens(turn.utterance))
        overall.update(tokens)
        for act in turn.acts:
            slot = find_slot(act, schema[turn.service])
            if slot and is_boolean(slot):
                within[turn.service, act.slot].update(tokens)
                counts[turn.service, act.slot] += 1
    telling_words: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key, words in within.items():
        for word, n in words.items():
            lift = (n / counts[key]) / (overall[word] / len(turns))
            if n >= 3 and lift > 15 and len(word) > 2:
                telling_words[key].add(word)
    return telling_words


def _off(value: str, rng: random.Random) -> str:
    """The value with one of its numbers a little off, or am for pm."""
    if rng.random() < 0.25 and re.search(r"\b[ap]m\b", value, re.IGNORECASE):
        return re.sub(r"\b([ap])m\b", lambda m: ("p" if m[1].lower() == "a" else "a") + "m", value, flags=re.IGNORECASE)
    numbers = list(re.finditer(r"\d+", value))
    if not numbers:
        if named := next((day for day in DAYS if day.lower() in value.lower()), None):
            return re.sub(named, rng.choice([day for day in DAYS if day != named]), value, flags=re.IGNORECASE)
        return rng.choice(("tomorrow", "today", "March 1st", "next Friday", "day after tomorrow"))
    at = rng.choice(numbers)
    number = int(at[0]) if len(at[0]) < 12 else 0
    step = rng.choice((1, 1, 2, 3, 5, 10)) * rng.choice((-1, 1))
    new = str(max(0, number + step)).zfill(len(at[0]) if at[0].startswith("0") else 1)
    if re.match(r"(st|nd|rd|th)\b", value[at.end() :]):
        day = 1 + (number - 1 + step) % 30
        ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return value[: at.start()] + str(day) + ending + value[at.end() + 2 :]
    return value[: at.start()] + new + value[at.end() :]


def _says(turn: Said, act: Act) -> bool:
    return any(contains_value(value, act.canonical_values, turn.utterance) for value in act.values)


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


# -- the mixture -------------------------------------------------------------------------------------------------------

SHARES = {  # acts drawn of each sort; a drawn act gives one to seven pairs
    "name": 9000, "time": 3500, "date": 5000, "count": 3500, "number": 6000, "price": 2000, "category": 6500,
    "boolean": 4600, "intent": 5000, "request": 7000, "act": 4500,
}  # fmt: skip


def sgd(
    dialogues: Sequence[Dialogue], schemas: Sequence[Schema], rng: random.Random, *, scale: float
) -> Iterator[Pair]:
    turns = service_turns(dialogues)
    maker = Maker(turns, schemas, collect_values(dialogues), rng)
    by_kind: dict[str, dict[tuple[str, str, str], list[tuple[Said, Act]]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        for act in turn.acts:
            if candidates(act, schemas[0][turn.service]):
                what = classify_act(act, schemas[0][turn.service])
                side = act.values[0] if what == "boolean" else ""
                by_kind[what][turn.service, act.slot or act.act, side].append((turn, act))
    for sort, wanted in SHARES.items():
        groups = by_kind[sort]
        # By slot and, for booleans, by side: frequent ones are drawn less than their share, rare ones more.
        weights = [math.sqrt(len(group)) for group in groups.values()]
        for group in rng.choices(list(groups.values()), weights, k=round(wanted * scale)):
            yield from maker.pairs(*rng.choice(group))


def made_up(rng: random.Random, count: int) -> Iterator[Pair]:
    for _ in range(count):
        utterance, act, service, label = booleans.make(rng)
        hypothesis = rng.choice(candidates(act, service))
        if rng.random() < 0.3:
            asked = Said(
                rng.choice(("Do you know more about it?", "Can you check that for me?", "")), utterance, "", ()
            )
            yield Pair(premise(asked, act, service), hypothesis, label, "made:boolean")
        else:
            yield Pair(utterance, hypothesis, label, "made:boolean")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder with data/nli and data/sgd")
    parser.add_argument("--sgd", type=Path, required=True, help="SGD's training dialogues, unpacked")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=0.75, help="of SGD's part")
    parser.add_argument("--made", type=int, default=14000, help="made-up booleans")
    options = parser.parse_args()
    data = options.shared / "data"
    folders = [data / "sgd/train", *(data / "sgd/sgd_x/data" / variant / "train" for variant in VARIANTS)]
    schemas = [readers.schema(str(folder / "schema.json")) for folder in folders]
    rng = random.Random(options.seed)
    pairs = list(public(data / "nli"))
    pairs += sgd(list(readers.gold(str(options.sgd))), schemas, rng, scale=options.scale)
    pairs += made_up(rng, options.made)
    rng.shuffle(pairs)
    write_pairs(pairs, options.out)
    for source, labels in sorted(_table(pairs).items()):
        print(source, dict(labels))
    print("pairs", len(pairs))


def _table(pairs: Sequence[Pair]) -> dict[str, Counter[str]]:
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        labels[pair.source][pair.label] += 1
    return labels


if __name__ == "__main__":
    main()
