"""The normaliser of mwzeval, the MultiWOZ evaluation by Nekvinda and Dušek (2021): slots, values and placeholders.

mwzeval rewrites gold and prediction before it compares them, which changes joint goal accuracy by up to 22 points. The
rules here equal those of the public script, with their faults: "12:30 pm" becomes "24:30", and a three-digit time such
as "929" becomes "929:00". A text for which the public script stops with an error ("ab:cd pm") does not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from troth.core.text_cache import clear_with_texts
from troth.text.lexicon import load_table

_PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:es|s|-s|-es|)")


def mwzeval_slot(slot: str) -> str:
    """A slot's name in mwzeval's form: lower case without spaces; `arrive` and `leave` for the longer names."""
    name = slot.lower().replace(" ", "")
    return {"arriveby": "arrive", "leaveat": "leave"}.get(name, name)


@clear_with_texts
@lru_cache(maxsize=1 << 16)  # values repeat from turn to turn
def mwzeval_value(slot: str, value: str) -> str:
    """A value in mwzeval's form. The rule depends on the slot, in any spelling that `mwzeval_slot` knows."""
    rule = _RULES.get(mwzeval_slot(slot))
    return value if rule is None else rule(value)


def mwzeval_response(text: str) -> str:
    """A response in mwzeval's form: lower case, placeholders such as `NAME` in upper case, unknown ones left out.

    >>> mwzeval_response("The [hotel_name] has [value_count] star -s, [nonsense].")
    'the NAME has COUNT star -s, .'
    """
    return _PLACEHOLDER.sub(lambda match: _spellings("placeholder").get(match[1], ""), text.lower())


def unknown_placeholders(text: str) -> list[str]:
    """The placeholders of a response that mwzeval does not know."""
    return [name for name in _PLACEHOLDER.findall(text.lower()) if name not in _spellings("placeholder")]


@cache
def _spellings(kind: str) -> Mapping[str, str]:
    """A table of `data/mwzeval.toml`: form of the database by spelling."""
    return {spelling: form for form, spellings in load_table("mwzeval")[kind].items() for spelling in spellings}


def _name(value: str) -> str:
    name = value.strip().lower().replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
    return _spellings("name").get(name, name)


def _time(value: str) -> str:
    """A time as HH:MM, as far as mwzeval understands it."""
    time = value.strip().lower()
    phrase = _spellings("time").get(time) or next(
        (form for start, form in _spellings("time_beginning").items() if time.startswith(start)), None
    )
    if phrase is not None:
        return phrase
    if time.startswith("by"):
        time = time[3:]
    for word in ("after", "afer"):
        if time.startswith(word):
            time = time.removeprefix(word).strip()
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    if time.endswith(("pm", "p.m.")):
        time = time.removesuffix("pm").strip().removesuffix("p.m.").strip()
        afternoon = _afternoon(time)
        if afternoon is not None:
            return afternoon
    return _clock(time)


def _afternoon(time: str) -> str | None:
    hour, *minutes = time.split(":")
    try:
        if len(minutes) == 1:
            return f"{int(hour) + 12}:{minutes[0]}"
        return f"{int(hour) + 12}:00" if not minutes and hour.isdigit() else None
    except ValueError:
        return None


def _clock(time: str) -> str:
    if not time:
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    if time.isdigit():
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time.zfill(2)}:00"
    if ":" in time:
        time = time.replace(" ", "")
    if len(time) == 4 and time[1] == ":":
        hour, minute = time.split(":")[:2]
        return f"{hour.zfill(2)}:{minute}"
    return time


_RULES: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("name", "destination", "departure"), _name),
    "food": lambda value: _spellings("food").get(value.strip().lower(), value.strip().lower()),
    "type": lambda value: _spellings("type").get(value, value),
    **dict.fromkeys(("parking", "internet"), lambda value: "yes" if value == "free" else value),
    **dict.fromkeys(("arrive", "leave", "time"), _time),
}
