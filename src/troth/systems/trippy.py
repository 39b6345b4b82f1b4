"""Values copied, not written: TripPy (Heck et al. 2020), and with a masked-language-model loss, before and during
fine-tuning, ConvBERT-DG (Mehri et al. 2020).

For every slot that the training schema has, a class says where its value comes from in this turn: from the user's
words, from what the system informed, from another slot, or it is true, false, dontcare, or none (as before). As in the
paper, slots are known by name alone: services that the training data does not have stay empty. Unlike there, a
reference to another slot is scored by two small vectors in place of a layer of slots by slots, which schemas with
hundreds of slots make large; and a categorical value that is copied becomes the possible value nearest to it. Intents
and requested slots are not predicted. What the system informed is read from its acts, where the data has them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec

from troth.core.errors import UserError
from troth.core.records import State
from troth.models import hub
from troth.models.batches import padded_tensors, replace_surrogates
from troth.models.hf import reach
from troth.systems.checkpoint import load_weights, weights
from troth.systems.data import TrackerCorpus, TrackerTurn
from troth.systems.heldout import split_drawn
from troth.systems.recipe import Recipe, TrackerModel, TrainableTracker, TurnTracker
from troth.systems.states import ANYTHING, restrict_state
from troth.systems.text import ENCODERS

IGNORED = -100
GIVES = ("OFFER", "INFORM", "CONFIRM", "NOTIFY_SUCCESS")  # acts by which a system gives a value
SPOKEN, REFER = 96, 32  # tokens of an utterance that are read; size of the vectors of references
MASKED = 0.15
READ = 512  # tokens, where neither model nor tokenizer says


class ValueSource(IntEnum):
    NONE = 0
    DONTCARE = 1
    SPAN = 2
    TRUE = 3
    FALSE = 4
    INFORM = 5
    REFER = 6


class Read(NamedTuple):
    """A turn in tokens, and where the user's words are."""

    ids: list[int]
    offsets: list[tuple[int, int]]  # of the user's tokens, which come after the first


class SlotLabel(NamedTuple):
    slot: int
    source: int
    start: int = IGNORED
    end: int = IGNORED
    refer: int = IGNORED


class CopyExample(NamedTuple):
    """A turn in tokens, and where the values of the slots that are asked for come from."""

    ids: array[int]
    labels: tuple[SlotLabel, ...]


def _network(folder: Path, slots: int, *, trained: bool) -> tuple[Any, Any]:
    """Tokenizer and module: an encoder with its masked-language-model head, and the heads of TripPy."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with hub.loading(str(folder)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        kind = transformers.AutoModelForMaskedLM
        if trained:
            base = kind.from_config(transformers.AutoConfig.from_pretrained(folder, **safe))
        else:
            options = {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
            base, report = kind.from_pretrained(folder, **safe, **options)
            inner = f"{base.base_model_prefix}."
            lost = [key for key in report["missing_keys"] if key.startswith(inner) and "pooler" not in key]
            if lost:
                raise UserError(f"the model has no weights for {', '.join(sorted(lost)[:3])}", file=str(folder))
    size = base.config.hidden_size
    module = torch.nn.ModuleDict(
        {
            "base": base,
            "drop": torch.nn.Dropout(0.1),
            "source": torch.nn.Linear(size, slots * len(ValueSource)),
            "span": torch.nn.Linear(size, slots * 2),
            "query": torch.nn.Linear(size, slots * REFER),
            "key": torch.nn.Linear(size, slots * REFER),
        }
    )
    if trained:
        load_weights(module, folder / "model.safetensors")
    return tokenizer, module


class CopyModel(TurnTracker, TrainableTracker[CopyExample]):
    """An encoder that says for every slot where its value comes from."""

    def __init__(self, folder: Path, slots: Sequence[str], *, mlm: float, trained: bool) -> None:
        self.slots, self.mlm = {slot: number for number, slot in enumerate(slots)}, mlm
        self.tokenizer, self.module = _network(folder, len(slots), trained=trained)
        if not self.tokenizer.is_fast:
            raise UserError("the tokenizer does not say where its tokens stand in a text", file=str(folder))
        self.begin = self._special("cls", "bos")
        self.end = self._special("sep", "eos")
        if None in (self.begin, self.end) or (mlm and self._special("mask") is None):
            what = "the tokenizer has no token for the beginning or the end of a text, or to mask words with"
            raise UserError(what, file=str(folder), hint="is its tokenizer_config.json damaged?")
        self.length = min(READ, reach(self.tokenizer, self.module["base"].config, READ))

    def _special(self, *names: str) -> int | None:
        """The first of these special tokens that the tokenizer has."""
        every = (getattr(self.tokenizer, f"{name}_token_id") for name in names)
        return next((one for one in every if one is not None), None)

    def examples(self, turns: Iterable[TrackerTurn]) -> Iterator[CopyExample]:
        for turn in turns:
            read = self._read(turn)
            labels = tuple(self._labels(turn, read))
            if labels:
                yield CopyExample(array("i", read.ids), labels)

    def masked_examples(self, turns: Iterable[TrackerTurn]) -> Iterator[CopyExample]:
        """Turns without labels: only masked words are learned from them."""
        for turn in turns:
            yield CopyExample(array("i", self._read(turn).ids), ())

    def _read(self, turn: TrackerTurn) -> Read:
        """[CLS] user [SEP] system [SEP] earlier utterances, the newest first [SEP]."""
        tokenizer = self.tokenizer
        user = tokenizer(replace_surrogates(turn.user), add_special_tokens=False, return_offsets_mapping=True)
        past = [text for _, text in reversed(turn.history)]
        older = tokenizer(
            [replace_surrogates(text) for text in past] or [""],
            add_special_tokens=False,
            truncation=True,
            max_length=SPOKEN,
        )["input_ids"]
        words = user["input_ids"][:SPOKEN]
        ids = [self.begin, *words, self.end]
        for row in older:
            ids += [*row, self.end]
        return Read(ids[: self.length], [tuple(pair) for pair in user["offset_mapping"][:SPOKEN]])

    def _labels(self, turn: TrackerTurn, read: Read) -> Iterator[SlotLabel]:
        informed = _informed_values(turn)
        for service in turn.services:
            gold = turn.gold[service.name].slot_values
            before = turn.before[service.name].slot_values if service.name in turn.before else {}
            for slot in service.slots:
                number = self.slots.get(f"{service.name}.{slot.name}")
                if number is not None:
                    values, old = gold.get(slot.name, ()), before.get(slot.name, ())
                    if not values or set(values) & set(old):
                        yield SlotLabel(number, ValueSource.NONE)
                    else:
                        yield self._label(number, f"{service.name}.{slot.name}", values, turn, (read, informed))

    def _label(
        self, number: int, slot: str, values: Sequence[str], turn: TrackerTurn, known: tuple[Read, dict[str, str]]
    ) -> SlotLabel:
        read, informed = known
        if ANYTHING in values:
            return SlotLabel(number, ValueSource.DONTCARE)
        if values[0].lower() in ("true", "false"):
            return SlotLabel(number, ValueSource.TRUE if values[0].lower() == "true" else ValueSource.FALSE)
        for value in values:
            place = turn.user.casefold().find(value.casefold())
            tokens = [i for i, (start, end) in enumerate(read.offsets) if start < place + len(value) and end > place]
            if place >= 0 and tokens:
                return SlotLabel(number, ValueSource.SPAN, tokens[0] + 1, tokens[-1] + 1)
        if informed.get(slot) in values:
            return SlotLabel(number, ValueSource.INFORM)
        for service, state in turn.before.items():
            for name, held in state.slot_values.items():
                other = self.slots.get(f"{service}.{name}")
                if other is not None and other != number and set(held) & set(values):
                    return SlotLabel(number, ValueSource.REFER, refer=other)
        return SlotLabel(number, IGNORED)

    def size(self, example: CopyExample) -> int:
        return len(example.ids)

    def collate(self, examples: Sequence[CopyExample], rng: Random) -> dict[str, Any]:
        import torch

        ids, mask = padded_tensors([list(e.ids) for e in examples], self._padding)
        # Slots that a turn is not asked about have no label; a row of five numbers for each of the others.
        rows = [(row, *label) for row, e in enumerate(examples) for label in e.labels]
        labels = torch.tensor(rows, dtype=torch.int64).reshape(-1, 6)
        batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        if self.mlm or not rows:
            drawn = torch.tensor([[rng.random() < MASKED for _ in row] for row in ids.tolist()])
            special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids))
            batch["masked"] = drawn & mask.bool() & ~special
        return batch

    @property
    def _padding(self) -> int:
        return int(self.tokenizer.pad_token_id or 0)

    def loss(self, batch: Any) -> Any:
        import torch

        entropy = torch.nn.functional.cross_entropy
        row, slot, source, start, end, refer = batch["labels"].unbind(1)
        if not len(row):  # the first phase: words alone
            return self._masked_loss(batch)
        scores = self._scores(batch)
        total = scores["source"].sum() * 0  # where no label is known, there is nothing to learn
        for name, labels in (("source", source), ("start", start), ("end", end), ("refer", refer)):
            known = labels != IGNORED
            if known.any():
                total = total + entropy(scores[name][row[known], slot[known]], labels[known])
        return total + self.mlm * self._masked_loss(batch) if self.mlm and batch["masked"].any() else total

    def _masked_loss(self, batch: Any) -> Any:
        """Cross-entropy of the words that are masked; 0 where none is."""
        import torch

        hidden = torch.where(batch["masked"], self.tokenizer.mask_token_id, batch["input_ids"])
        logits = self.module["base"](input_ids=hidden, attention_mask=batch["attention_mask"]).logits
        if not batch["masked"].any():
            return logits.sum() * 0
        return torch.nn.functional.cross_entropy(logits[batch["masked"]], batch["input_ids"][batch["masked"]])

    def _scores(self, batch: Any) -> dict[str, Any]:
        """By row and slot: scores of sources, of the first and the last token, and of the slots referred to."""
        import torch

        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        states = self.module["drop"](self.module["base"].base_model(**inputs).last_hidden_state)
        first, count = states[:, 0], len(self.slots)
        spans = self.module["span"](states).masked_fill(~batch["attention_mask"].bool()[..., None], -1e4)
        spans = spans.transpose(1, 2).unflatten(1, (count, 2))
        query, key = (self.module[name](first).unflatten(1, (count, REFER)) for name in ("query", "key"))
        return {
            "source": self.module["source"](first).unflatten(1, (count, len(ValueSource))),
            "start": spans[:, :, 0],
            "end": spans[:, :, 1],
            "refer": torch.matmul(query, key.transpose(1, 2)) / REFER**0.5,
        }

    def predict(self, turns: Sequence[TrackerTurn]) -> list[dict[str, State]]:
        import torch

        reads = [self._read(turn) for turn in turns]
        ids, mask = padded_tensors([read.ids for read in reads], self._padding)
        self.module.eval()
        with torch.inference_mode():
            scores = self._scores({"input_ids": ids, "attention_mask": mask})
        return [
            self._states(turn, read, {name: one[row] for name, one in scores.items()})
            for row, (turn, read) in enumerate(zip(turns, reads, strict=True))
        ]

    def _states(self, turn: TrackerTurn, read: Read, scores: dict[str, Any]) -> dict[str, State]:
        informed = _informed_values(turn)
        held = {
            f"{service}.{slot}": values[0]
            for service, state in turn.before.items()
            for slot, values in state.slot_values.items()
        }
        states = {}
        for service in turn.services:
            values: dict[str, str] = {}
            for slot in service.slots:
                name = f"{service.name}.{slot.name}"
                value = held.get(name, "")
                if name in self.slots:
                    value = self._value(name, scores, (turn.user, read, informed, held)) or value
                values[slot.name] = value
            states[service.name] = restrict_state(service, values, intent=None, requested=None)
        return states

    def _value(self, slot: str, scores: dict[str, Any], known: tuple[str, Read, dict[str, str], dict[str, str]]) -> str:
        user, read, informed, held = known
        number = self.slots[slot]
        source = ValueSource(int(scores["source"][number].argmax()))
        if source is ValueSource.SPAN and read.offsets:
            count = len(read.offsets) + 1  # the user's tokens come after the first
            start = 1 + int(scores["start"][number][1:count].argmax())
            end = start + int(scores["end"][number][start:count].argmax())
            return user[read.offsets[start - 1][0] : read.offsets[end - 1][1]]
        if source is ValueSource.REFER:
            likely = scores["refer"][number].argsort(descending=True).tolist()
            names = list(self.slots)
            return next((held[names[i]] for i in likely if names[i] in held and i != number), "")
        said = {ValueSource.DONTCARE: ANYTHING, ValueSource.TRUE: "True", ValueSource.FALSE: "False"}
        return informed.get(slot, "") if source is ValueSource.INFORM else said.get(source, "")

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        self.module["base"].config.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        save_file(weights(self.module), folder / "model.safetensors")


def _informed_values(turn: TrackerTurn) -> dict[str, str]:
    """The value that the system gave last for each "service.slot"."""
    return {
        f"{frame.service}.{act.slot}": (act.canonical_values or act.values)[0]
        for past in turn.past
        if past.speaker == "SYSTEM"
        for frame in past.frames
        for act in frame.acts
        if act.act in GIVES and act.slot and act.values
    }


class Trippy(Recipe, frozen=True, kw_only=True):
    """Values copied from the user, from the system's informs, or from another slot (TripPy)."""

    base: ClassVar[str] = "minilm-l6"
    families: ClassVar[tuple[str, ...]] = ENCODERS

    slots: tuple[str, ...] = ()  # "service.slot"; none: those of the training data
    mlm: float = 0.0  # weight of the masked-language-model loss

    def fit_to(self, corpus: TrackerCorpus) -> Self:
        names = [f"{one.name}.{slot.name}" for one in corpus.schema.values() for slot in one.slots]
        return msgspec.structs.replace(self, slots=self.slots or tuple(names))

    def open(self, model: str, *, trained: bool) -> TrackerModel:
        return CopyModel(self.files(model), self.slots, mlm=self.mlm, trained=trained)


class ConvBertDg(Trippy, frozen=True, kw_only=True):
    """TripPy with a masked-language-model loss before and beside its own; for encoders of dialogues (ConvBERT-DG)."""

    first: ClassVar[Literal["", "dialogues", "tasks"]] = "dialogues"

    mlm: float = 1.0
    before: bool = True  # learn masked words of the training dialogues first, where no others are named

    def first_examples(
        self, model: TrainableTracker[Any], items: Sequence[str], seed: int
    ) -> tuple[list[Any], list[Any]]:
        copies = _check_copies(model)
        return split_drawn(
            [(path, list(copies.masked_examples(TrackerCorpus.read(path).turns()))) for path in items], seed
        )

    def own_first_examples(
        self, model: TrainableTracker[Any], corpus: TrackerCorpus, seed: int
    ) -> tuple[list[Any], list[Any]] | None:
        return (
            split_drawn([("", list(_check_copies(model).masked_examples(corpus.turns())))], seed)
            if self.before
            else None
        )


def _check_copies(model: TrainableTracker[Any]) -> CopyModel:
    if not isinstance(model, CopyModel):
        raise TypeError(f"a model that copies values is expected, not {type(model).__name__}")
    return model
