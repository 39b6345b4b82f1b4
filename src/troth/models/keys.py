"""Recognises an API key in what a server sends, so that it is neither stored nor printed.

A key counts as repeated if the text has 8 of its characters in a row, or 16 where these are only small letters and
signs: `sk-proj-` begins the keys of everybody, and a key such as `local-development-key` is made of words. Escapes of
JSON are undone first, also those of JSON inside a string of JSON, such as the arguments of a tool call.
"""

from __future__ import annotations

import json
import re

RUN, RUN_OF_WORDS = 8, 16  # characters in a row
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|(?=[/\"]))")


def decode_answer(data: bytes) -> str:
    """The text of an answer in whichever Unicode encoding JSON allows."""
    return data.decode(json.detect_encoding(data), errors="replace")


def repeats_key(text: str, key: str) -> bool:
    """Whether a text has enough of a key to recognise it.

    >>> repeats_key(r'{"error": "no key \\u0073k-0123\\/456"}', "sk-0123/456789abc")
    True
    >>> repeats_key("Keys begin with sk-proj-.", "sk-proj-0123456789")
    False
    """
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else "", text)
    runs = {key[start : start + RUN] for start in range(len(key) - RUN + 1)}
    typical = {run for run in runs if any(character.isdigit() or character.isupper() for character in run)}
    words = {key[start : start + RUN_OF_WORDS] for start in range(len(key) - RUN_OF_WORDS + 1)}
    return any(part in text for part in typical | words)
