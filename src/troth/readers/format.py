"""What a reader declares about its format: one record, which every other part of the program asks."""

from __future__ import annotations

import msgspec


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A file format: its name, what it is, and what it can hold."""

    name: str
    about: str  # one clause for `troth ls`
    profile: str | None = None  # the scoring profile of the field that predictions of this format come from
    correctness: bool = False  # holds right or wrong per slot in place of values
    writes: bool = False  # the reader has a `write` function
    pairs: bool = False  # `write` takes pairs of gold and prediction, not only dialogues
    folder: bool = False  # written as a folder of files
    ending: str = ".json"  # of a single file
