"""The engine `rules`: paraphrases by hand-written replacement of frames and phrases, offline and without a model.

A turn is split into sentences, a sentence into openers ("yes,", "great,") and clauses. A clause is matched against
frames (wishes, questions, confirmations, thanks) and rephrased in another frame of the same meaning; inside, a few
phrases are replaced, two prepositional phrases may be exchanged, and contractions are expanded or formed. Values,
numbers, names and times are masked first and do not change. Text that matches no rule does not change either.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from troth.perturb.lexicon import Half, HalfRandom, word_set
from troth.perturb.users import frames, questions
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.guard import Stretch, repeated_words
from troth.perturb.users.phrases import MASK, Clause, compile_pattern, group, substitutions

_FIRST_MASK = 0xE000  # the private use area, whose characters have no meaning in texts
_SENTENCE = re.compile(r"(.+?)(?:([.!?…]+)(\s+|$|(?=[A-Z][a-z]))|\s*$)", re.DOTALL)
_APART = re.compile(r"\S [.,?!](?:\s|$)")  # punctuation separated from words
_SPLIT = re.compile(r" (?=(?:n['’]t|['’](?:s|m|d|re|ll|ve))\b)")
_ONE_WORD = re.compile(r"\w(?:n['’]t|['’](?:s|m|d|re|ll|ve))\b")

_TWO_PHRASES = re.compile(rf"\b((?:in|at|on|for) {MASK}) ((?:in|at|on) {MASK})(?=$|[,.;])")


class _Joined(NamedTuple):
    """A clause, and its joint to the clause before: "", " and ", ", "."""

    joint: str
    text: str


def engine(options: Any) -> RuleParaphraser:
    """The engine `rules`; of the options of `Paraphrase`, it takes `half`."""
    return RuleParaphraser(options.half)


class RuleParaphraser:
    """Hand-written rules, offline."""

    varies = True

    def __init__(self, half: Half = "all") -> None:
        self.half = half

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        return [paraphrase(one.text, one.stretches, HalfRandom(one.seed, self.half)) for one in requests]


@cache
def _openers_by_word() -> dict[str, list[str]]:
    groups = group("openers")
    return {word.lower(): openers for openers in reversed(groups) for word in openers if not word.startswith("that ")}


@cache
def _opener() -> re.Pattern[str]:
    """The pattern of an opener of a sentence and the pause after it."""
    known = sorted({*_openers_by_word(), *group("only_as_opener")}, key=len, reverse=True)
    return compile_pattern(rf"({'|'.join(known)})({{PAUSE}})", re.IGNORECASE)


def paraphrase(text: str, stretches: Sequence[Stretch], rng: random.Random) -> str:
    """The text in other words; the `stretches` do not change. Text that matches no rule is returned unchanged."""
    if re.search(MASK, text):
        return text  # its own private characters would be taken for masks
    masked, values = _mask(text, stretches)
    apart = bool(_APART.search(masked))
    masked = _SPLIT.sub("", re.sub(r" +(?=[.,?!;]+(?:\s|$))", "", masked)) if apart else masked
    out = []
    for body, end, space in _SENTENCE.findall(masked) or [(masked, "", "")]:
        new, mark = _sentence(body, end, values, rng)
        out.append(new + mark + space)
    done = "".join(out).strip()
    done = _separate_marks(done, contractions=not _ONE_WORD.search(text)) if apart else done
    new = re.sub(MASK, lambda m: values[ord(m.group()) - _FIRST_MASK], done)
    return text if repeated_words(new) - repeated_words(text) else new


def _mask(text: str, stretches: Sequence[Stretch]) -> tuple[str, list[str]]:
    pieces: list[str] = []
    values: list[str] = []
    at = 0
    for part in stretches:
        pieces += [text[at : part.start], chr(_FIRST_MASK + len(values))]
        values.append(text[part.start : part.end])
        at = part.end
    return "".join([*pieces, text[at:]]), values


def _separate_marks(text: str, *, contractions: bool) -> str:
    """Separates marks as tokenised corpora do, so that the style does not change: "I 'm fine , thanks ."."""
    text = re.sub(r"(?<=[^\s.,?!;])(?=[.,?!;]+(?:\s|$))", " ", text)
    return re.sub(rf"(?<=\w)(?=n't\b)|(?<=\w|{MASK})(?='(?:s|m|d|re|ll|ve)\b)", " ", text) if contractions else text


def _sentence(body: str, end: str, values: Sequence[str], rng: random.Random) -> tuple[str, str]:
    """One sentence and its closing mark."""
    lead, rest = re.match(r"([\s\"“(*-]*)(.*)", body, re.DOTALL).groups()  # type: ignore[union-attr]
    first = _begin(rest, values)
    upper = not first[:1].islower()
    number = first.split()[0].lower() if re.match(MASK, rest) else ""
    opened, rest = _openers(rest, rng)
    mark = end
    if rest:
        said = _clauses(rest, end, rng)
        opened, mark = opened + said.text, _mark(said.mood, end)
    text = frames.tidy(opened)
    begins = re.match(MASK, text)
    if upper and begins and _begin(text, values)[:1].islower():
        return body, end  # a value in small letters would open the sentence
    if upper and not begins and number in word_set("numbers") | word_set("times") | {"one", "next", "this", "the"}:
        return body, end  # "One ticket" would have its capital in the middle
    return lead + (text[:1].upper() + text[1:] if upper else text), mark


def _begin(text: str, values: Sequence[str]) -> str:
    """The beginning of a text: a value, or a letter."""
    return values[ord(text[0]) - _FIRST_MASK] if re.match(MASK, text) else text[:1]


def _mark(mood: str, end: str) -> str:
    if mood in "wq":
        return "?" if not end or end in ".?!" else end
    return "." if end.startswith("?") and mood in "si" else end


def _openers(text: str, rng: random.Random) -> tuple[str, str]:
    """Leading interjections, each replaced by another of its group, and the rest of the text."""
    out = ""
    while match := _opener().match(text):
        word, pause = match.group(1), match.group(2)
        low, after = word.lower(), text[match.end() :]
        others = [w for w in _openers_by_word().get(low, ()) if w != low and {w, low} != {"ok", "okay"}]
        if low == "right" and after:
            others = []  # "right, book it" agrees to nothing
        new = rng.choice(others) if others else word[:1].lower() + word[1:]
        out += _contract(new, rng) + pause
        text = after
        if not pause:
            break
    return out, text


def _clauses(text: str, end: str, rng: random.Random) -> Clause:
    parts = _split(text)
    plain = [_expand(part.text) for part in parts]
    moods = [frames.mood(clause, end) for clause in plain]
    if len(parts) > 1 and all(mood == "w" for mood in moods):
        contents = [questions.content(clause) for clause in plain]
        if all(contents):  # "where is it and what does it cost" → "could you tell me where it is and what it costs"
            joined = "".join(p.joint + str(c) for p, c in zip(parts, contents, strict=True))
            return _polish(_choose(questions.ask(joined), " ".join(plain), rng), text, rng)
    out, last = "", Clause(moods[-1], "")
    for part, clause, mood in zip(parts, plain, moods, strict=True):
        wordings = frames.rephrase(clause)
        if end.startswith("?") and frames.mood(clause, "") == "s":  # "four stars?" is not to be answered
            wordings = [said for said in wordings if said.mood in "qw"]
        if len(parts) > 1:  # a clause among others keeps its mood: the mark at the end is theirs together
            wordings = [said for said in wordings if said.mood in (mood, "f")]
        last = _choose(wordings, clause, rng) if wordings else Clause(mood, clause)
        new = _polish(last, clause, rng)
        out += part.joint + _change_contractions(part.text, new.text, rng)
    return Clause(last.mood if len(parts) == 1 else "q" if end.startswith("?") else "f", out)


def _split(text: str) -> list[_Joined]:
    parts, at, joint = [], 0, ""
    for match in compile_pattern("{JOINT}", re.IGNORECASE).finditer(text):
        parts.append(_Joined(joint, text[at : match.start()]))
        joint, at = match.group(1), match.end()
    return [*parts, _Joined(joint, text[at:])]


def _choose(wordings: Sequence[Clause], old: str, rng: random.Random) -> Clause:
    """Draws a wording from the two fifths that change most."""
    before = Counter(old.lower().split())
    shared = [sum((before & Counter(said.text.lower().split())).values()) for said in wordings]
    most = sorted(shared)[max(1, len(wordings) * 2 // 5 - 1) if len(wordings) > 1 else 0]
    return rng.choice([said for said, same in zip(wordings, shared, strict=True) if same <= most])


def _polish(said: Clause, old: str, rng: random.Random) -> Clause:
    """Replaces phrases, reorders prepositional phrases, and forms contractions at random."""
    text = said.text
    done: set[str] = set()
    for pattern, options in substitutions("inline"):
        match = pattern.search(text)
        if match is None or match.group() in done or rng.random() < 0.15:
            continue
        choices = [option for option in options if option.strip() != match.group().strip()]
        if choices:
            new = rng.choice(choices)
            done.update((new, new.strip()))  # not there and back again
            text = text[: match.start()] + new + text[match.end() :]
    if _is_same_text(text, old):
        text = said.text
    if rng.random() < 0.7:
        text = _TWO_PHRASES.sub(r"\2 \1", text, count=1)
    return Clause(said.mood, _contract(text, rng))


def _change_contractions(old: str, new: str, rng: random.Random) -> str:
    """Changes the contractions if nothing else changed."""
    if new.lower() != old.lower():
        return new
    forms: list[Callable[[str], str]] = [_expand, lambda text: _contract(text, rng, always=True)]
    return next((form(old) for form in forms if form(old).lower() != old.lower()), old)


def _is_same_text(a: str, b: str) -> bool:
    return re.sub(r"\W", "", a).lower() == re.sub(r"\W", "", b).lower() and re.findall(MASK, a) == re.findall(MASK, b)


def _expand(text: str) -> str:
    for pattern, (out,) in substitutions("opened"):
        text = pattern.sub(out, text)
    text = re.sub(r"\bi\b", "I", text)
    return text if re.match(r"I\b", text) else text[:1].lower() + text[1:]


def _contract(text: str, rng: random.Random, *, always: bool = False) -> str:
    for pattern, (out,) in substitutions("closed"):
        if always or rng.random() < 0.6:
            text = pattern.sub(out, text)
    return text
