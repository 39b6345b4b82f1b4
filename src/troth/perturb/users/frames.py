"""Clauses read as frames (wanting, requesting, asking, confirming, thanking) and said again in other frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from troth.perturb.users import templates as book
from troth.perturb.users.phrasebook import SAME, THANKS, THANKS_HELP
from troth.perturb.users.questions import asked, content
from troth.perturb.users.templates import MASK, Out, Said

_VERBS = (
    "find|search|look|book|reserve|make|get|buy|purchase|play|show|send|schedule|check|tell|give|help|rent"
    "|transfer|add|"
    "list|suggest|recommend|confirm|set|put|provide|arrange|locate|order|start|cast|stream|cancel|change|pay"
    "|request|see"
)
# Nouns need no list: an object may not begin with what cannot begin one, and may not run into a clause of its own.
_NOT_OBJECT = re.compile(
    r"(?:it|that|this|them|these|those|him|her|me|us|you|out|if|whether|what|where|how|when|who|which|why|in|on"
    r"|at|for|to|up|"
    r"into|from|with|about|around|near|by|and|or|more|my|is|as|there|something that|one(?: of)?|so|also|just"
    r"|only|help)\b",
    re.IGNORECASE,
)
_CLAUSE_INSIDE = re.compile(
    rf"\b(?:and|or|then|but|so|please|because)\b,? (?:then |also |please )?(?:{_VERBS}|i|you|we|it|that|let)\b"
    rf"|\?|\bplease\b|[.!?;]\S"
    r"|\band (?:the|my) .*\b(?:is|are|should|will|must)\b|\bi (?:need|want|would|will)\b|\b(?:which|what|who)(?:"
    r" \w+)? (?:would|do|is|are|can)\b|, (?:i|can|could|which|what)\b",
    re.IGNORECASE,
)


def said(clause: str) -> list[Said]:
    """Every other way to say a clause whose contractions are open; [] where no frame fits."""
    polite = re.sub(
        r"^please,? |,? please$|(?<=you) please(?= )|(?<=me) please(?= )|(?<=I) please(?= )",
        "",
        clause,
        flags=re.IGNORECASE,
    )
    clause_text = re.sub(r"^(?:if possible|if you can),? |,? (?:if possible|if you can)$", "", polite)
    tail = ", if possible" if clause_text != polite else ""
    lone = re.sub(
        r"^((?:I|we)(?: will| would)?) also (?!.*\b(?:too|as well)\b)", r"\1 ", clause_text, flags=re.IGNORECASE
    )
    tail = " as well" + tail if lone != clause_text else tail
    found: list[Said] = []
    for reader in _READERS:
        found = [out for out in reader(lone) if _fold(out.text) != _fold(clause)]
        if found:
            break
    return [Said(out.mood, out.text + tail) for out in found]


def mood(clause: str, end: str) -> str:
    if re.match(r"(?:please )?(?:can|could|would|will) you\b", clause, re.IGNORECASE):
        return "q"
    if re.match(
        r"(?:what|where|how|when|who|which|why|do (?:you|they|we|i)|(?:is|are|does|did|will|am) \w+)\b",
        clause,
        re.IGNORECASE,
    ):
        return "w"
    if re.match(rf"(?:please )?(?:{_VERBS})\b", clause, re.IGNORECASE):
        return "i"
    return "q" if end.startswith("?") else "s"


def tidy(text: str) -> str:
    """Spaces single, "a" or "an" by the word that follows where that word is one of ours."""
    text = re.sub(r" +", " ", text).strip()
    text = re.sub(r"\ba (?=(?:alternative|excellent|awesome)\b)", "an ", text)
    return re.sub(r"\ban (?=(?:film|booking|telephone|great|wonderful|fantastic)\b)", "a ", text)


# -- readers: a clause in, other ways to say it out --------------------------------------------------------------------


def _same(clause: str) -> Iterator[Said]:
    folded = _fold(clause)
    for group, known in _SAME.get(folded, ()):
        yield from (Said(_mood_of(out), out) for out in group if _fold(out) != folded)
        del known


def _mood_of(text: str) -> str:
    if re.match(r"could you|can you", text):
        return "q"
    return "w" if re.match(r"(?:what|how|where|which|who|is|are|do|at what)\b", text) else "s"


_THANKS = re.compile(
    r"(?:thanks|thank you|many thanks)(?: so much| very much| a lot| a bunch| again| much| a ton| ever so much)*"
    r"(?P<for> for (?P<x>(?:all )?(?:of )?(?:your|the|you) (?:\w+ )?(?:help|assistance)|helping(?: me)?(?: out)?"
    r"|[^,?]+))?",
    re.IGNORECASE,
)


def _thanks(clause: str) -> Iterator[Said]:
    match = _THANKS.fullmatch(clause)
    if match is None:
        return
    about = match["x"] or ""
    if re.search(r"help|assistance", about):
        yield from (Said("s", out) for out in THANKS_HELP)
    else:
        yield from (Said("s", out + (match["for"] or "")) for out in THANKS)


_GRATEFUL = re.compile(
    r"i (?:really |do )?(?:appreciate|am (?:thankful|grateful) for) (?:all )?(?:of )?(?:your|the) (?:help"
    r"|assistance)",
    re.IGNORECASE,
)


def _grateful(clause: str) -> Iterator[Said]:
    if _GRATEFUL.fullmatch(clause):
        yield from (Said("s", out) for out in THANKS_HELP)


_FIND = r"(?:find|search for|look for|locate|look up)(?: me| for me)? (?!for\b)(?P<x>.+?)(?: for me)?"
_SEARCH = re.compile(
    rf"(?:(?:can|could|would|will) you (?:help me (?:to )?)?|(?:help me (?:to )?)?|i (?:want|need|would like"
    rf"|wish) (?:you )?to )"
    rf"{_FIND}"
    r"|(?:i am |i was )?(?:looking|searching) for (?P<y>.+)|i am trying to find (?P<z>.+)"
    r"|i (?:need|would like|want) (?:some |your )?(?:help|assistance) (?:with |in )?(?:finding|locating|to find)"
    r" (?P<w>.+)"
    r"|(?:can|could|would|will) you (?:please )?help me (?:with |in )?finding (?P<u>.+)",
    re.IGNORECASE,
)


def _search(clause: str) -> Iterator[Said]:
    match = _SEARCH.fullmatch(clause)
    if match is None:
        return
    x = next(group for group in (match["x"], match["y"], match["z"], match["w"], match["u"]) if group)
    if _object(x):
        yield from _filled(book.SEARCH, x=x)


_WANT = re.compile(
    r"(?P<s>i|we) (?:want|need|would like|require|would need|will need|would want|would like to have|am looking"
    r" to get) (?P<x>.+)",
    re.IGNORECASE,
)


def _want(clause: str) -> Iterator[Said]:
    match = _WANT.fullmatch(clause)
    if (
        match is None
        or re.match(r"to\b|you\b|help|assistance|more\b|is\b", match["x"])
        or _CLAUSE_INSIDE.search(match["x"])
    ):
        return
    x, who = match["x"], _who(match["s"])
    points = re.match(r"(?:it|that|this|them|these|those)\b", x)  # "what I want is it" is no English
    yield from (out for out in _filled(book.WANT, x=x, **who) if not (points and out.text.startswith("what ")))
    if re.match(r"(?:a|an|some|another) \S+", x) and not re.match(
        r"(?:a|some) (?:help|table|reservation|\w+ hand)\b", x
    ):
        yield from _filled(book.WANT_A, x=x, **who)


_TO = re.compile(
    r"(?P<s>i|we) (?P<k>want|need|would like|would love|wish|am hoping|was hoping|am looking|will need|plan"
    r"|intend|am planning) to (?P<v>.+)",
    re.IGNORECASE,
)


def _want_to(clause: str) -> Iterator[Said]:
    match = _TO.fullmatch(clause)
    if match is None or _CLAUSE_INSIDE.search(match["v"]) or re.match(r"know\b|be able\b", match["v"]):
        return
    who = _who(match["s"])
    if re.match(r"plan|intend|am planning", match["k"]):
        yield from _filled(book.PLAN, v=match["v"], **who)
        return
    yield from _filled(book.WANT_TO, v=match["v"], **who)
    if re.match(
        r"(?:book|reserve|make|buy|purchase|schedule|find|rent|check(?! in)|transfer|search|look for|look up|get (?:an?"
        r"|the|some|tickets))\b",
        match["v"],
    ):
        yield from _filled(book.WANT_TO_DO, v=match["v"], **who)


_ASKING = re.compile(
    r"(?:(?:can|could|would|will) you (?:tell me|let me know)|tell me|let me know|do you know|i (?:want|need"
    r"|would like) to know"
    r"|(?:may|can|could) i know|would you mind telling me|i was wondering) (?P<c>.+)",
    re.IGNORECASE,
)


def _asking(clause: str) -> Iterator[Said]:
    match = _ASKING.fullmatch(clause)
    c = match["c"] if match else content(clause)
    if c is None or re.match(r"(?:about|more|of|a|some|any|how to)\b", c):
        return
    direct = content(c) if match else None  # "can you tell me what is the address": common, and mended on the way
    yield from asked(direct or c)


_REQUEST = re.compile(
    rf"(?:(?:can|could|would|will) you(?: be able to)?|i (?:want|need|would like) you to) (?P<v>(?:also"
    rf" )?[a-z]+\b.*)|(?P<i>(?:{_VERBS})\b (?!of\b).+)",
    re.IGNORECASE,
)


def _request(clause: str) -> Iterator[Said]:
    match = _REQUEST.fullmatch(clause)
    if match is None:
        return
    v = match["v"] or match["i"]
    if re.match(r"(?:be|have|mind|like)\b", v) or re.search(r"\?|\byou\b|\bplease\b", v):
        return
    yield from _filled(book.REQUEST, v=v)


_HELPING = re.compile(
    r"(?:i (?:need|want|would like|am looking for|require)|(?:can|could) i (?:get|have)) (?:some |your |a little"
    r" |a )?(?:help|assistance)"
    r" (?P<p>with|in|on) (?P<x>.+)|(?:can|could|would|will) you help me (?:(?P<o>with|in) )?(?P<y>(?:\w+ing|a"
    r"|the|my)\b.+)",
    re.IGNORECASE,
)


def _helping(clause: str) -> Iterator[Said]:
    match = _HELPING.fullmatch(clause)
    if match is None:
        return
    x = match["x"] or match["y"]
    if not _CLAUSE_INSIDE.search(x):
        preposition = (match["p"] or match["o"] or ("with" if re.match(r"(?:a|the|my)\b", x) else "")).lower()
        yield from _filled(book.HELP, x=x, p="" if re.match(r"\w+ing\b", x) else preposition)


_MAY = re.compile(r"(?:can|could|may|might) i (?:please )?(?P<v>(?!know\b|be\b)[a-z]+ .+)", re.IGNORECASE)


def _may(clause: str) -> Iterator[Said]:
    match = _MAY.fullmatch(clause)
    if match and not _CLAUSE_INSIDE.search(match["v"]):
        yield from _filled(book.MAY_I, v=match["v"])


_THERE = re.compile(r"(?:is there|do you have) (?P<x>(?:an?|another|any|anything|something)\b.+)", re.IGNORECASE)
_THERES = re.compile(r"(?:are there|do you have) (?P<x>(?:any|other|some)\b.+s)", re.IGNORECASE)


def _there(clause: str) -> Iterator[Said]:
    if match := _THERES.fullmatch(clause):
        yield from _filled(book.ARE_THERE, x=match["x"])
    elif match := _THERE.fullmatch(clause):
        yield from _filled(book.IS_THERE, x=match["x"])


_PIECE = (
    rf"(?:{MASK}|in|on|at|from|to|for|around|until|till|by|of|the|this|next|and|an?|tickets?|people|persons?"
    rf"|nights?|days?|"
    r"rooms?|seats?|events?|bedrooms?|beds?|baths?|bathrooms?|stars?|hotel|games?|flight|account|area)"
)
_BARE = re.compile(rf"(?=.*{MASK}){_PIECE}(?: {_PIECE}){{0,8}}", re.IGNORECASE)
_JUST = re.compile(rf"(?:just|only) (?P<x>{MASK}(?: [a-z]+)?)", re.IGNORECASE)


def _bare(clause: str) -> Iterator[Said]:
    if _BARE.fullmatch(clause):
        yield from _filled(book.BARE, x=clause)
    elif match := _JUST.fullmatch(clause):
        yield from _filled(book.JUST, x=match["x"])


_THING = rf"{MASK}(?: {MASK})?|{MASK} \w+|(?:that|this) (?:one|\w+)|the \w+|an? \w+ \w+"
# One object in, frames out: (pattern, frames). `x` may not run into a clause of its own.
_SIMPLE: tuple[tuple[re.Pattern[str], tuple[Out, ...]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), outs)
    for pattern, outs in (
        (rf"(?P<x>{_THING}) (?:is|would be|sounds|will be) (?:just )?(?:fine|good|okay|ok|great|perfect|alright"
         rf"|all right|cool|nice|awesome)(?: with me| by me| for me| to me)?", book.SUITS),
        (rf"(?P<x>{_THING}) works(?: for me| well)?", book.SUITS),
        (r"i am (?:okay|ok|fine|happy|good) with (?P<x>.+)", book.SUITS),
        (rf"i like (?P<x>{MASK}.*)", book.LIKE),
        (rf"i (?:really |do )?love (?P<x>{MASK}.*)", book.LOVE),
        (rf"my destination is (?P<x>{MASK}.*)", book.DESTINATION),
        (r"i plan on (?P<x>\w+ing .+)", book.PLAN_ON),
        (r"i am interested in (?P<x>.+)", book.INTEREST),
        (r"i (?:would )?prefer (?P<x>(?:an?|the|some|MASK).*)".replace("MASK", MASK), book.PREFER),
        (rf"(?P<s>i|we) (?:am|are|will be) (?:going|travelling|traveling|heading|headed) to"
         rf" (?P<x>{MASK}.*)", book.GOING),
        (rf"(?P<s>i|we) (?:am|are|will be) (?:leaving|departing|starting) (?P<x>(?:from|on|at|in) (?:the"
         rf" )?{MASK}.*)", book.LEAVING),
        (rf"(?P<s>i|we) (?:leave|depart|will leave|will depart) (?P<x>(?:from|on|at|in) (?:the"
         rf" )?{MASK}.*)", book.LEAVING),
        (rf"(?P<s>i|we) will (?:take|have|go with|go for) (?P<x>(?:{MASK}|that|it|this|the)\b.*"
         rf"|{MASK}.*)", book.TAKE),
        (rf"let us (?:go with|go for|take) (?P<x>(?:that|it|this|the)\b.*|{MASK}.*)", book.TAKE),
        (r"let us (?P<v>(?!go ahead$|go with|go for|do (?:it|that)$)\w+ .+)", book.LET_US),
        (r"i do not (?:want|wish) to (?P<v>.+)", book.NOT_TO),
        (r"(?:how|what) about (?P<x>.+)", book.ABOUT),
        (rf"(?:it|this|that) is for (?P<x>(?:the )?{MASK}.*)", book.FOR),
        (rf"i (?:just|only) (?:need|want) (?P<x>{MASK}(?: [a-z]+)?)", book.JUST),
    )
)  # fmt: skip


def _simple(clause: str) -> Iterator[Said]:
    for pattern, outs in _SIMPLE:
        match = pattern.fullmatch(clause)
        if match is None:
            continue
        parts = match.groupdict()
        what = parts.get("x") or parts.get("v") or ""
        if not _CLAUSE_INSIDE.search(what):
            yield from _filled(outs, **{**_who(parts.get("s") or "i"), "x": what, "v": what})
        return


# -- small parts -------------------------------------------------------------------------------------------------------


def _object(x: str) -> bool:
    return not _NOT_OBJECT.match(x) and not _CLAUSE_INSIDE.search(x)


def _filled(outs: Sequence[Out], **parts: str) -> Iterator[Said]:
    for mood, template in outs:
        yield Said(mood, re.sub(r" +", " ", template.format(**parts)))


def _who(subject: str) -> dict[str, str]:
    if subject.lower() == "we":
        return {"s": "we", "am": "are", "was": "were", "me": "us"}
    return {"s": "I", "am": "am", "was": "was", "me": "me"}


def _fold(text: str) -> str:
    return re.sub(r"[^\w\s\ue000-\uf8ff]", "", text).lower().strip()


_SAME: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
for _group in SAME:
    for _phrase in (*_group[0], *_group[1]):
        _SAME.setdefault(_fold(_phrase), []).append(_group)

_READERS: tuple[Callable[[str], Iterator[Said]], ...] = (
    _same, _thanks, _grateful, _bare, _simple, _search, _helping, _asking, _there, _request, _may, _want_to, _want,
)  # fmt: skip
