"""Tracks dialogues side by side with a network that answers queries, whatever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from troth.core.records import Service, State
from troth.systems.data import TrackerTurn
from troth.systems.span.batches import PADDING, Floats, Inputs, Ints, inputs, pad_turns
from troth.systems.span.decode import Answers, update
from troth.systems.span.examples import SPOKEN, Tokens, build_features
from troth.systems.span.layout import Layout, layout
from troth.systems.span.memory import Memory, ServiceMemory

TOKENIZER = "tokenizer.json"
AT_ONCE = 64  # texts of a schema that are encoded together
TURNS = 32  # turns that are encoded together
REMEMBERED = 10_000  # turns whose words are kept: 40 kB each
Texts = Sequence[str]


class Tracking(ABC):
    """Keeps the vectors of the schemas that it meets, and a memory for each dialogue."""

    remembers_offers: ClassVar[bool] = True  # whether values that the system gave in earlier turns can be taken over

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._layouts: dict[int, tuple[Service, Layout]] = {}  # by id; the service stays, and keeps its id
        self._tables: dict[int, tuple[Layout, Floats]] = {}
        self._vectors: dict[str, Floats] = {}
        self._turns: dict[bytes, Any] = {}  # words of turns, in half precision

    @abstractmethod
    def read(self, ids: Ints, segments: Ints) -> Floats:
        """The tokens of turns as the network reads them."""

    @abstractmethod
    def ask(self, words: Floats, arrays: Inputs) -> Answers:
        """Returns the scores of all queries for turns that were read."""

    @abstractmethod
    def sentences(self, texts: Texts) -> Floats:
        """The vectors of texts of a schema, by the encoder as it was pretrained."""

    def track(self, dialogues: Sequence[Sequence[TrackerTurn]]) -> list[list[dict[str, State]]]:
        """The states after every turn: the first turns of all dialogues, then the second ones, …"""
        memories: list[Memory] = [{} for _ in dialogues]
        layouts: list[dict[str, Layout]] = [{} for _ in dialogues]
        states: list[list[dict[str, State]]] = [[] for _ in dialogues]
        self._read_ahead([turn for turns in dialogues for turn in turns])
        for number in range(max(map(len, dialogues), default=0)):
            going = [place for place, turns in enumerate(dialogues) if number < len(turns)]
            turns = [dialogues[place][number] for place in going]
            for place, turn in zip(going, turns, strict=True):
                for service in turn.services:
                    layouts[place].setdefault(service.name, self.layout(service))
                    memories[place].setdefault(service.name, ServiceMemory())
                if not self.remembers_offers:
                    for memory in memories[place].values():
                        memory.offered.clear()
            made = [
                build_features(turn, layouts[at], memories[at], self.tokens)
                for at, turn in zip(going, turns, strict=True)
            ]
            known = [layouts[place] for place in going]
            arrays = inputs(made, known, self.table, self.tokens.padding)
            answers = self.ask(self._read(arrays.ids, arrays.segments), arrays)
            row = 0
            for place, turn, example in zip(going, turns, made, strict=True):
                mine = Answers(answers.scores[row:], answers.places[:, row:], answers.carried[row:])
                states[place].append(update(memories[place], turn, example, mine))
                row += len(example.rows)
        return states

    def forget(self) -> None:
        """Drops the words of turns that were read."""
        self._turns.clear()

    def _read_ahead(self, turns: Sequence[TrackerTurn]) -> None:
        """Encodes turns of similar length together, which needs less padding than those of one number."""
        if len(self._turns) < REMEMBERED:
            words = sorted((self.tokens(turn.system, turn.user) for turn in turns), key=lambda one: len(one.ids))
            for start in range(0, len(words), TURNS):
                self._read(*pad_turns(words[start : start + TURNS], self.tokens.padding))

    def _read(self, ids: Ints, segments: Ints) -> Floats:
        """The encoded words of turns. A turn is encoded once, also if it is tracked under several schemas."""
        lengths = (segments != PADDING).sum(1)
        keys = [np.stack([ids[at, :count], segments[at, :count]]).tobytes() for at, count in enumerate(lengths)]
        new = [at for at, key in enumerate(keys) if key not in self._turns]
        fresh: dict[bytes, Any] = {}
        if new:
            longest = lengths[new].max()
            for at, states in zip(new, self.read(ids[new, :longest], segments[new, :longest]), strict=True):
                fresh[keys[at]] = states[: lengths[at]].astype(np.float16)
        both = [fresh[key] if key in fresh else self._turns[key] for key in keys]
        if len(self._turns) < REMEMBERED:
            self._turns |= fresh
        words = np.zeros((*ids.shape, both[0].shape[-1]), np.float32)
        for at, states in enumerate(both):
            words[at, : len(states)] = states
        return words

    def layout(self, service: Service) -> Layout:
        """The queries of a service, made once."""
        known = self._layouts.get(id(service))
        if known is None:
            known = self._layouts[id(service)] = service, layout(service)
        return known[1]

    def table(self, mine: Layout) -> Floats:
        """The vectors of all queries of a service, made once."""
        known = self._tables.get(id(mine))
        if known is None:
            new = sorted({text for text in mine.texts if text not in self._vectors}, key=lambda text: (len(text), text))
            for start in range(0, len(new), AT_ONCE):
                some = new[start : start + AT_ONCE]
                self._vectors |= dict(zip(some, self.sentences(some), strict=True))
            known = self._tables[id(mine)] = mine, np.stack([self._vectors[text] for text in mine.texts])
        return known[1]


def pad_texts(texts: Texts, tokens: Tokens) -> Ints:
    encoded = [ids[: 2 * SPOKEN] for ids in tokens.whole(texts)]
    table = np.full((len(texts), max(map(len, encoded))), tokens.padding, np.int64)
    for at, ids in enumerate(encoded):
        table[at, : len(ids)] = ids
    return table
