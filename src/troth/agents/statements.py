"""Sentences in which an assistant says that something was done, in English, German and Spanish.

A statement is a verb of doing (`data/actions.toml`) in a frame that says that it was done: "I have cancelled", "I went
ahead and cancelled", "has been cancelled", "was cancelled", "is now cancelled", "Order placed!"; "ich habe …
storniert", "wurde … storniert"; "he cancelado", "ha sido cancelado", "cancelé". A further verb of the sentence takes
over the frame: "I cancelled it and sent a mail". Or it says that all is done: "All set!", "your refund is done".
Questions, conditions, plans, wishes and denials are no statements, and neither is what the user or others did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from troth.agents.tools import tool_words
from troth.core.text_cache import text_cache
from troth.text.lexicon import load_table, word_set
from troth.text.sentences import locate_sentences

ANY = "any"
LONGEST = 800  # characters of a sentence; longer ones are cut
_LINE = re.compile(rf"[^\n]{{1,{LONGEST}}}")
_LETTERS = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[^\w\s]")
_FIRST = frozenset(("i", "we"))
_FIRST_HAVE = frozenset(("i've", "we've"))
_HAVE, _WAS, _IS = frozenset(("has", "have")), frozenset(("was", "were")), frozenset(("is", "are", "am"))
_MODALS = frozenset(
    ("can", "cannot", "could", "will", "would", "must", "may", "should", "cost", "costs", "has", "have")
)
_SHORT_IS = frozenset(("it's", "you're", "that's", "they're", "everything's", "we're"))
_GERMAN_HAVE, _GERMAN_WAS = frozenset(("habe", "haben")), frozenset(("wurde", "wurden"))
_GERMAN_IS = frozenset(("ist", "sind"))
_SPANISH_HAVE, _SPANISH_BE = frozenset(("he", "hemos")), frozenset(("ha", "han"))
_SPANISH_IS = frozenset(("está", "están", "queda", "quedan", "fue", "fueron", "quedó"))
_ENDS = frozenset(("complete", "completed", "successful"))
_JOINED = frozenset(("and", ",", "then", "und", "y", "e", "&"))
_JOINTS = _JOINED | {"but", ";", "aber", "pero"}
_AFTER_STATE = re.compile(
    r"\s*(?:[.,;:!*)(—–-]|$|(?:and|for|to|until|on|at|in|as|with|from|now|successfully|through)\b)"
)
_AFTER_FRAGMENT = re.compile(r"\s*(?:[.,;!—–]|$|(?:for|to|until|on|at|from|with|successfully)\b)")
_BEFORE_DONE = re.compile(
    r"(?:^|[.!,;:—–-]|\b(?:is|are|it's|that's|you're|everything's|ist|sind|está|ya|now|all|already|been|bereits|i've|we've|have))\s*\**\s*$",
    re.IGNORECASE,
)
_ABLE = re.compile(
    r"\b(?:I|we)\s+(?:was|were|have been|['’]ve been)\s+able\s+to\s+$|\b(?:I|we)\s+(?:have\s+)?managed\s+to\s+$",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:ago|(?:the|your) (?:last|past|previous)|earlier|previously|originally|yesterday)\b", re.IGNORECASE
)
_BY = re.compile(r"\bby (?:the|our|your|a|an|another)\b", re.IGNORECASE)
_LABELLED = re.compile(r"(?:^|\n)\s*(?:[-*•]\s*)?\**[\w ]{1,30}\**:\s*\**$")


class Statement(NamedTuple):
    """A verb that says that something was done, with its sentence."""

    start: int  # of the verb and what belongs to it, in the text
    end: int
    verb: str
    family: str
    active: bool  # the assistant says that it did it itself
    fresh: bool  # it is said to have been done now: perfect, "now", "successfully"; else it may be a report of the past
    sentence: str
    offset: int  # of the sentence in the text
    clause: str  # the part of the sentence that the verb belongs to


class VerbFamily(NamedTuple):
    """Verbs with one meaning, and the words of tools that do it."""

    tools: frozenset[str]
    strict: bool
    active: bool


@cache
def families() -> dict[str, VerbFamily]:
    """The families of `data/actions.toml`."""
    return {
        name: VerbFamily(frozenset(table["tools"].split()), table.get("strict", False), table.get("active", False))
        for name, table in load_table("actions").items()
    }


@cache
def verbs() -> dict[str, tuple[str, str]]:
    """VerbFamily and language of each form of a verb."""
    forms = {
        form: (name, language)
        for name, table in load_table("actions").items()
        for language in ("es", "de", "en")
        for form in table[language].split()
    }
    third = {f"{form[:-1]}ó": own for form, own in forms.items() if form.endswith("é")}  # "se canceló"
    return third | forms


@cache
def _base_verbs() -> dict[str, str]:
    """VerbFamily of each verb in the infinitive, as names of tools have it."""
    bases: dict[str, str] = {}
    for name, family in families().items():
        for form in load_table("actions")[name]["en"].split():
            for base in (form.removesuffix("ed"), form.removesuffix("d"), form.removesuffix("led")):
                if base in family.tools and base != form:
                    bases.setdefault(base, name)
    return bases


@cache
def _tool_verbs() -> frozenset[str]:
    return frozenset[str]().union(*(family.tools for family in families().values()))


@cache
def tool_families(tool: str) -> frozenset[str]:
    """The families that a tool belongs to, by the words of its name."""
    for word in tool_words(tool):  # the first verb says it: `close_issue` does not issue anything
        if own := frozenset(name for name, family in families().items() if word in family.tools):
            return own
    return frozenset()


@text_cache
def find_statements(text: str) -> tuple[Statement, ...]:
    """Every statement of a text that something was done, in order."""
    statements: list[Statement] = []
    words = set(_LETTERS.findall(text.lower()))
    if words.isdisjoint(verbs()) and words.isdisjoint(_base_verbs()) and not _done_pattern().search(text):
        return ()
    for offset, sentence in split_lines(text):
        if sentence.rstrip(" *_)\"'”’").endswith("?") or "¿" in sentence:
            continue
        own = list(_read_sentence(sentence, offset, text))
        statements += own or _read_done(sentence, offset)
    return tuple(statements)


def split_lines(text: str) -> Iterator[tuple[int, str]]:
    """Sentences and the lines in them, with the index of their first character."""
    for start, sentence in locate_sentences(text):
        for line in _LINE.finditer(sentence):
            yield start + line.start(), line[0]


class SentenceToken(NamedTuple):
    word: str  # in lower case
    start: int
    end: int
    is_capital: bool


def _read_sentence(sentence: str, offset: int, text: str) -> Iterator[Statement]:
    tokens = [
        SentenceToken(match[0].lower().replace("’", "'"), *match.span(), match[0][0].isupper())
        for match in _TOKEN.finditer(sentence)
    ]
    known = verbs()
    frame: VerbFrame | None = None
    own_frame: VerbFrame | None
    last = 0
    for index, token in enumerate(tokens):
        if token.word in _base_verbs() and _ABLE.search(sentence[: token.start]):
            own_frame, family = VerbFrame(token.start, active=True, fresh=True), _base_verbs()[token.word]
        elif token.word in known:
            family, language = known[token.word]
            if token.word == "set" and index and tokens[index - 1].word == "all":
                continue  # "all set": see `_read_done`
            own_frame = _find_frame(tokens, index, language, sentence)
            if own_frame is None and frame is not None and _is_joined(tokens, last, index):
                own_frame = VerbFrame(token.start, active=frame.active, fresh=frame.fresh)
        else:
            continue
        if own_frame is None:
            continue
        if _is_blocked(tokens, index) or (families()[family].active and not own_frame.active):
            frame = None
            continue
        if own_frame.fragment and _LABELLED.search(text[: offset + token.start][-40:]):
            continue
        frame, last = own_frame, index
        clause = sentence[_clause_start(tokens, index, known) : _clause_end(tokens, index, known, sentence)]
        yield Statement(
            offset + own_frame.start,
            offset + token.end,
            token.word,
            family,
            own_frame.active,
            own_frame.fresh,
            sentence,
            offset,
            clause,
        )


class VerbFrame(NamedTuple):
    """The words around a verb that say that it was done."""

    start: int
    active: bool = False
    fresh: bool = False
    fragment: bool = False


def _find_frame(tokens: Sequence[SentenceToken], index: int, language: str, sentence: str) -> VerbFrame | None:
    if language == "de":
        return _find_german_frame(tokens, index)
    if language == "es":
        return _find_spanish_frame(tokens, index)
    adverbs = word_set("adverbs", "speech")
    at = index - 1
    been = False
    while at >= 0 and tokens[at].word in adverbs:
        been = been or tokens[at].word == "been"
        at -= 1
    word = tokens[at].word if at >= 0 else ""
    before = tokens[at - 1].word if at > 0 else ""
    start = tokens[at].start if at >= 0 else tokens[index].start
    skipped = {token.word for token in tokens[at + 1 : index]}
    if been:
        is_perfect = word in _HAVE or word in _FIRST_HAVE or word.endswith(("'s", "'ve"))
        return VerbFrame(start, fresh=True) if is_perfect and before not in ("to", "may", "might") else None
    if word in _FIRST_HAVE or (word in _HAVE and _subject(tokens, at - 1) in _FIRST):
        return VerbFrame(start, active=True, fresh=True)
    if word in _FIRST:
        return VerbFrame(start, active=True, fresh=True)
    if word == "and" and [token.word for token in tokens[max(0, at - 2) : at]][-1:] == ["ahead"]:
        return VerbFrame(tokens[max(0, at - 2)].start, active=True, fresh=True)
    if tokens[index].word == "scheduled" and [token.word for token in tokens[index + 1 : index + 2]] == ["to"]:
        return None  # "was scheduled to depart"
    if word in _WAS and not skipped and _PAST.search(sentence, tokens[index].end):
        return None  # "was booked within the last 24 hours": a report
    if word in _WAS and not _is_relative(tokens, at):
        return VerbFrame(start, fresh=bool(skipped & {"now", "successfully", "just"}))
    if word in _IS or word in _SHORT_IS:
        if (
            not _is_relative(tokens, at)
            and _AFTER_STATE.match(sentence, tokens[index].end)
            and not _BY.search(sentence, tokens[index].end)
        ):
            subject = {token.word for token in tokens[:at]} & word_set("subjects", "speech")
            if word in _SHORT_IS or subject or skipped & {"now", "successfully"} or _has_name(tokens, at):
                return VerbFrame(start, fresh=bool(skipped & {"now", "successfully", "all"}))
        return None
    return _find_fragment(tokens, index, sentence)


def _subject(tokens: Sequence[SentenceToken], at: int) -> str:
    while at >= 0 and tokens[at].word in word_set("adverbs", "speech"):
        at -= 1
    return tokens[at].word if at >= 0 else ""


def _is_relative(tokens: Sequence[SentenceToken], at: int) -> bool:
    return at > 0 and tokens[at - 1].word in word_set("relative", "speech")


def _has_name(tokens: Sequence[SentenceToken], at: int) -> bool:
    """Whether the subject before a verb is a name or has an identifier; "Rooms are …" is said of all rooms."""
    named = any(token.is_capital or any(map(str.isdigit, token.word)) for token in tokens[1:at])
    return named or (at == 1 and tokens[0].is_capital and tokens[1].word == "is")


def _find_fragment(tokens: Sequence[SentenceToken], index: int, sentence: str) -> VerbFrame | None:
    """ "Order placed!", "Removed!": a short subject, or none, and no other verb."""
    before = [token.word for token in tokens[:index]]
    if before and tokens[index].word in word_set("intransitive", "speech"):
        return None
    if len(before) > 6 or any(word in word_set("not_in_fragments", "speech") or word in verbs() for word in before):
        return None
    if _has_finite_verb(tokens[index + 1 :]):
        return None  # "flights booked with points cannot be changed"
    after = tokens[index].end
    if before and "successfully" in before and set(before) <= word_set("adverbs", "speech"):
        return VerbFrame(tokens[0].start, active=True, fresh=True)
    if before and not _AFTER_FRAGMENT.match(sentence, after):
        return None
    if not before and not re.match(r"\s*(?:[.!:,]|$)", sentence[after:]):
        return None
    return VerbFrame(tokens[0].start, fresh=True, fragment=True)


def _has_finite_verb(tokens: Sequence[SentenceToken]) -> bool:
    """Whether a verb follows before the next comma or colon."""
    end = next(
        (index for index, token in enumerate(tokens) if token.word in (",", ":", ";", "!", "–", "—")), len(tokens)
    )
    return any(token.word in _IS or token.word in _WAS or token.word in _MODALS for token in tokens[:end])


def _find_german_frame(tokens: Sequence[SentenceToken], index: int) -> VerbFrame | None:
    """Auxiliary before the participle, somewhere in the clause; the participle ends the clause."""
    for at in range(index - 1, -1, -1):
        word = tokens[at].word
        if word in _GERMAN_HAVE:
            near = {token.word for token in tokens[max(0, at - 1) : at + 3]}
            return VerbFrame(tokens[index].start, active=True, fresh=True) if near & {"ich", "wir"} else None
        if word in _GERMAN_WAS or (word in _GERMAN_IS and index - at < 12):
            return VerbFrame(tokens[index].start, fresh=word in _GERMAN_IS)
        if word == ";":
            break
    return None


def _find_spanish_frame(tokens: Sequence[SentenceToken], index: int) -> VerbFrame | None:
    word = tokens[index].word
    if word.endswith(("é", "í")) or word in ("hice",):
        return VerbFrame(tokens[index].start, active=True, fresh=True)
    adverbs = word_set("adverbs", "speech")
    at = index - 1
    while at >= 0 and (tokens[at].word in adverbs or tokens[at].word in ("sido", "quedado")):
        at -= 1
    before = tokens[at].word if at >= 0 else ""
    if word.endswith("ó"):
        return VerbFrame(tokens[index].start, fresh=True) if before == "se" else None
    if before in _SPANISH_HAVE:
        return VerbFrame(tokens[index].start, active=True, fresh=True)
    if before in _SPANISH_BE or before in _SPANISH_IS:
        return VerbFrame(tokens[index].start, fresh=before in _SPANISH_BE)
    return None


def _is_joined(tokens: Sequence[SentenceToken], last: int, index: int) -> bool:
    """Whether a verb shares the frame of the one before it: joined by "and", without a subject of its own."""
    between = [token.word for token in tokens[last + 1 : index]]
    cuts = [place for place, word in enumerate(between) if word in _JOINED]
    if not cuts:
        return False
    rest = [word for word in between[cuts[-1] + 1 :] if word not in word_set("adverbs", "speech")]
    german = verbs()[tokens[index].word][1] == "de"
    return not rest if not german else not ({"ist", "sind", "wird", "werden", "kann", "sie", "er", "es"} & set(rest))


def _is_blocked(tokens: Sequence[SentenceToken], index: int) -> bool:
    """Whether the part of the sentence before a verb makes it a condition, a plan, a wish or a denial."""
    start = max((at + 1 for at in range(index) if tokens[at].word in (";", "—", ":")), default=0)
    if any(is_blocker(token.word) and not (token.word == "may" and token.is_capital) for token in tokens[start:index]):
        return True
    after = [token.word for token in tokens[index + 1 : index + 3]]
    return after[:1] in (["werden"], ["sein"]) or after[:2] == ["worden", "sein"]


def is_blocker(word: str) -> bool:
    """Whether what follows a word is a condition, a plan, a wish or a denial."""
    return word.endswith("n't") or word in word_set("blockers", "speech")


def _clause_start(tokens: Sequence[SentenceToken], index: int, known: dict[str, tuple[str, str]]) -> int:
    """Where the clause of a verb begins: after the verb before it, or after a semicolon."""
    for at in range(index - 1, -1, -1):
        if tokens[at].word in known:
            joint = next((n for n in range(at + 1, index) if tokens[n].word in _JOINED), None)
            return tokens[joint].end if joint is not None else tokens[at].end
        if tokens[at].word in (";", "!", ":"):
            return tokens[at].end
    return 0


def _clause_end(tokens: Sequence[SentenceToken], index: int, known: dict[str, tuple[str, str]], sentence: str) -> int:
    """Where it ends: before the conjunction that leads to the next verb."""
    finite = _IS | _WAS | _HAVE | {"will", "stays", "remains", "costs", "ist", "kostet", "bleibt", "es", "llega"}
    for at in range(index + 1, len(tokens)):
        if tokens[at].word in known or tokens[at].word in finite:
            joints = [n for n in range(index + 1, at) if tokens[n].word in _JOINTS]
            return tokens[joints[-1]].start if joints else tokens[at].start
        if tokens[at].word in (";", "!"):
            return tokens[at].start
    return len(sentence)


@cache
def _done_pattern() -> re.Pattern[str]:
    phrases = [phrase.strip() for phrase in load_table("speech")["done"].replace("\n", "").split("|") if phrase.strip()]
    return re.compile(r"\b(" + "|".join(sorted(map(re.escape, phrases), key=len, reverse=True)) + r")\b", re.IGNORECASE)


def _read_done(sentence: str, offset: int) -> list[Statement]:
    """ "All set!", "your refund is done": something was done, whatever it is."""
    for match in _done_pattern().finditer(sentence):
        before = sentence[: match.start()]
        words = {token.lower() for token in re.findall(r"[\w'’]+", before)}
        ends = _ENDS.union(("done",) if not words.isdisjoint(_tool_verbs()) else ())
        is_short = len(words) <= 2 and match[1].lower() in ends  # "Transfer complete.", "Upgrade done."
        if words & word_set("blockers", "speech") or not (is_short or _BEFORE_DONE.search(before)):
            continue
        if match[1].lower() != "taken care of" and not re.match(r"\s*(?:[.!,:;*)—–]|$)", sentence[match.end() :]):
            continue
        return [Statement(
            offset + match.start(), offset + match.end(), match[1].lower(), ANY, False, True, sentence, offset, sentence
        )]  # fmt: skip
    return []
