"""The size of a corpus of dialogues, as in table 2 of FGA's paper."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from troth.core.names import format_count
from troth.core.records import Dialogue


class CorpusStatistics(msgspec.Struct, frozen=True):
    """Number of dialogues, number of user turns, and their mean."""

    dialogues: int
    turns: int
    turns_per_dialogue: float | None  # None: there is no dialogue

    def __str__(self) -> str:
        mean = "" if self.turns_per_dialogue is None else f" ({self.turns_per_dialogue:.2f} per dialogue)"
        return f"{format_count(self.dialogues, 'dialogue')}, {format_count(self.turns, 'user turn')}{mean}"


def corpus_statistics(dialogues: Iterable[Dialogue]) -> CorpusStatistics:
    """Counts dialogues and user turns.

    >>> str(corpus_statistics([]))
    '0 dialogues, 0 user turns'
    """
    return summarize_sizes([sum(1 for _ in dialogue.user_turns()) for dialogue in dialogues])


def summarize_sizes(turns: list[int]) -> CorpusStatistics:
    """Statistics from the number of user turns of each dialogue."""
    return CorpusStatistics(len(turns), sum(turns), sum(turns) / len(turns) if turns else None)
