"""Negations, quantifiers, opposites, added claims and dropped conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from troth.core.randomness import generator
from troth.perturb.answers import AnswerSentence, CorruptionKind, Replacement, SupportedAnswer
from troth.perturb.answers.lexicon import antonyms, match_case, phrases, substitutes, verb_forms
from troth.perturb.lexicon import load_table

_AUXILIARY = re.compile(
    r"\b(?P<aux>is|are|was|were|can|could|will|would|should|must|may|might|has been|have been|had been|has|have|had)\b"
    r"(?! (?:not|never|no|n't|been not|to|a lot|your|you|i|it|he|she|they|we)\b)(?!n['’]t)(?=\s+[\w\"'“(])",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?P<stem>is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b|\b(?P<can>can)(?:not|['’]t)\b"
    r"|\b(?P<aux>is|are|was|were|can|could|will|would|should|must|may|might|does|do|did|has|have|had) (?:not|never)\b"
    r"(?! (?:only|just|all)\b)",
    re.IGNORECASE,
)
_VERB = re.compile(r"(?<=[\w,)\"'’] )\b[a-z]+\b(?! by\b)")
_NO_VERB_AFTER = re.compile(
    r"\b(?:to|not|never|is|are|was|were|be|been|being|has|have|had|having|can|could|will|would|should|must|may|might|does|do|"
    r"did|the|a|an|of|in|and|or|his|her|their|its|also|well|most|for|by|with|who|which|that|he's|it's)$",
    re.IGNORECASE,
)
_CLAUSE = r"\b(?:only (?:if|when|after)|if|unless|provided that|as long as|except|in case|without)\b"
_END_CLAUSE = re.compile(rf",? (?:but |and )?{_CLAUSE}(?! (?:i|you)\b)[^,.;!?]*(?=\s*[.!?]|$)", re.IGNORECASE)
_FIRST_CLAUSE = re.compile(r"^(?:If|Unless|As long as|Except|Without) [^,.;!?]{4,90}, (?P<next>\w)")
_OPEN = re.compile(r"\b(?:may|might)\b(?! (?:not|i|you|he|she|they|we|it)\b)(?= [a-z])", re.IGNORECASE)
_ONLY = re.compile(r"\bonly (?=in|on|for|with|to|at|by|during|from)\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z]{5,}")
_BEFORE_FIXED = (" as", " more", " most", " less", " very", " not", " how", " quite", " and", " or", " is", " are")
_PERIOD = re.compile(r"\s*(?:a|an|one|two|three|\d+)\s(?:few )?(?:minute|hour|day|week|month|year|decade)")
# Endings of a text after which a word is not a quantifier.
_NO_QUANTIFIER_AFTER = (" at", " the", " second", " their", " his", " its", " players", "not", "not only", "as", "so",
                        "how", "of", "ever")  # fmt: skip
_AMBIGUOUS = frozenset(("most", "more", "least", "less", "right", "left", "free", "living", "known", "open",
                        "close"))  # fmt: skip


def change_negations(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Removes a negation if there is one, else negates the first verb that allows it."""
    for sentence in answer.sentences:
        negations = list(_NOT.finditer(sentence.text))
        for match in negations:
            yield [_shift(Replacement(*match.span(), match["stem"] or match["can"] or match["aux"]), sentence)]
        if not negations and (added := _add_not(sentence.text)) is not None:
            yield [_shift(added, sentence)]


def _add_not(text: str) -> Replacement | None:
    """Negates the first verb of a sentence: an auxiliary, or a known verb that cannot be anything else."""
    if re.search(r"\b(?:no|never|nothing|none|neither|nobody|hardly|without)\b|n['’]t\b|\bnot\b", text, re.IGNORECASE):
        return None
    auxiliary = next((match for match in _AUXILIARY.finditer(text) if not _is_full_have(text, match)), None)
    verbs = (match for match in _VERB.finditer(text) if match[0] in verb_forms())
    verb = next((match for match in verbs if not _NO_VERB_AFTER.search(text, 0, match.start() - 1)), None)
    if verb is not None and (auxiliary is None or verb.start() < auxiliary.start()):
        return Replacement(verb.start(), verb.end(), verb_forms()[verb[0]])
    if auxiliary is None:
        return None
    end = auxiliary.start("aux") + len(auxiliary["aux"].split()[0])
    return Replacement(end, end, " not")


def _is_full_have(text: str, match: re.Match[str]) -> bool:
    """Whether `have` means to own, so that `not` cannot follow."""
    if match["aux"].lower() not in ("has", "have", "had"):
        return False
    return re.match(r"\s+(?:(?:also|since|always|now|long|recently)\s+)?\w+(?:ed|en|wn|ne|ght|un|ung|ome|ade|eld|old|"
                    r"aid|ut|et|ost|eft|ent|ead|ept|uilt|aught|ot)\b", text[match.end():]) is None  # fmt: skip


def change_quantifiers(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Replaces each quantifier or comparison by one that does not follow from it."""
    for sentence in answer.sentences:
        for match in _phrase_pattern("quantifiers").finditer(sentence.text):
            old = match[0].lower()
            before = sentence.text[: match.start()].lower().rstrip()
            if before.endswith(_NO_QUANTIFIER_AFTER) and old != "half of":
                continue
            for new in substitutes("quantifiers")[old]:
                if _fits_after(old, new, sentence.text[match.end() :]):
                    yield [_shift(Replacement(*match.span(), match_case(new, match[0])), sentence)]


def _fits_after(old: str, new: str, rest: str) -> bool:
    """Whether the words after a quantifier can also follow another one."""
    after = re.match(r"\s*([\w'’-]+)(?:\s+([\w'’-]+))?", rest)
    word, second = (after[1].lower(), (after[2] or "").lower()) if after else ("", "")
    if old in ("all", "most", "some", "many", "few", "several", "each", "every", "numerous"):
        if word in ("of", "the", "in", "are", "is", "were", "was", "", "other", "more", "over", "kinds", "sorts",
                    "likely", "popular", "important", "famous", "common", "recent", "notable", "part", "around", "that",
                    "these", "time", "has", "have"):  # fmt: skip
            return False
        if old == "most" and (word.endswith(("ous", "ant", "ent", "ful", "al", "ive", "ed", "ing")) or new == "no"):
            return False
        plural = word.endswith("s") or second.endswith("s") or word in ("people", "children", "men", "women")
        return plural or new == "no"
    if old == "within":
        return _PERIOD.match(rest) is not None
    if old in ("before", "after", "until"):
        return word not in ("that", "which", "all", "", "being") and not (old == "after" and word.endswith("ing"))
    return True


def change_relations(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Replaces each word by its opposite, or by another relation, that is not in the document."""
    for sentence in answer.sentences:
        for match in re.finditer(r"[A-Za-z][\w-]*", sentence.text):
            old = match[0].lower()
            if old not in antonyms() or old not in answer.words or not _is_free(sentence.text, match):
                continue
            for new in antonyms()[old]:
                vowels = [text[0] in "aeiou" for text in (old, new)]
                article = re.search(r"\ban? $", sentence.text[: match.start()].lower()) is not None
                if answer.words.isdisjoint(new.split()) and not (article and vowels[0] != vowels[1]):
                    yield [_shift(Replacement(*match.span(), match_case(new, match[0])), sentence)]


def _is_free(text: str, match: re.Match[str]) -> bool:
    """Whether a word is not part of a name, a compound or a set phrase."""
    before, after = text[: match.start()], text[match.end() :]
    if re.search(r"ly $", before) or re.match(r" (?:history|selling|known)\b", after):  # generally accepted principles
        return False
    if re.search(r"\bthe $", before.lower()) and re.match(r"\s*(?:[.,;]|$|\w+ed\b)", after):  # the wild
        return False
    is_name = match[0][0].isupper() and before.strip() != ""
    compound = before.endswith("-") or after.startswith(("-", "'", "’"))
    phrase = re.search(r"\b(?:at|no|not|the very|as well as|long|so) $", before.lower()) is not None
    word = match[0].lower()
    follows = re.match(r"\s+([\w'’-]+)", after)
    next_word = follows[1].lower() if follows else ""
    if word in ("first", "last"):
        return next_word not in ("name", "time", "week", "year")
    if word in _AMBIGUOUS:
        adjective = next_word.endswith(("al", "ive", "ful", "ous", "ant", "ent", "ed", "ing", "ar"))
        return adjective and word in ("more", "most")
    if word in ("end", "long", "light", "love", "hard", "high", "old", "short", "like", "early", "late", "new", "can"):
        return (
            next_word.isalpha()
            and not phrase
            and word not in ("end", "light", "love", "hard", "new")
            and not re.search(r"\d ?$|\byears? $", before.lower())
            and next_word
            not in ("as", "school", "term", "time", "with", "of", "before", "after", "run", "on", "and", "or")
        )
    return not is_name and not compound and not phrase


def add_claims(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Adds a plausible claim to the end of each statement; none of its long words is in the document."""
    for sentence in answer.sentences:
        words = sentence.text.split()
        end = len(sentence.text.rstrip(" .!…\n\"'”"))
        if (
            len(words) < 5
            or sentence.text.rstrip().endswith(('"', "”", "'"))
            or end < len(sentence.text.rstrip()) - 2
            or sentence.text[:end].endswith((",", ")", ":"))
        ):
            continue
        draw = generator(0, "addition", sentence.text)
        for clause in load_table("answers")["additions"]:
            filled = clause.format(year=draw.randrange(1931, 2012), number=draw.choice((12, 14, 30, 45, 60, 85)))
            new = set(_WORDS.findall(filled.lower())) - {"which", "other", "about", "until", "since"}
            if answer.words.isdisjoint(new):
                yield [_shift(Replacement(end, end, filled), sentence)]


def drop_conditions(answer: SupportedAnswer) -> Iterator[list[Replacement]]:
    """Drops a condition, an exception, or a word that limits the claim; `may` becomes `will`."""
    for sentence in answer.sentences:
        text = sentence.text
        for match in _END_CLAUSE.finditer(text):
            if match.start() >= 15:
                yield [_shift(Replacement(*match.span(), ""), sentence)]
        if first := _FIRST_CLAUSE.match(text):
            yield [_shift(Replacement(0, first.end(), first["next"].upper()), sentence)]
        for match in _OPEN.finditer(text):
            yield [_shift(Replacement(*match.span(), match_case("will", match[0])), sentence)]
        for match in _ONLY.finditer(text):
            yield [_shift(Replacement(*match.span(), ""), sentence)]
        for match in _phrase_pattern("hedges").finditer(text):
            yield from ([_shift(replacement, sentence)] for replacement in _remove_word(text, match))


def _remove_word(text: str, match: re.Match[str]) -> Iterator[Replacement]:
    """Removes a limiting word, with its space and comma."""
    before, after = text[: match.start()], text[match.end() :]
    if before.rstrip().endswith(_BEFORE_FIXED):
        return
    if before.strip() == "":
        if rest := re.match(r",?\s*(\w)", after):
            first = rest[1].upper() if match[0][0].isupper() else rest[1]
            yield Replacement(match.start(), match.end() + rest.end(), first)
    elif before.endswith(" ") and re.match(r"\s", after) and not before.endswith(", "):
        yield Replacement(match.start(), match.end() + 1, "")


@cache
def _phrase_pattern(name: str) -> re.Pattern[str]:
    known = list(substitutes(name)) if name == "quantifiers" else phrases(name)
    longest_first = sorted(dict.fromkeys(map(re.escape, known)), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(longest_first)})\b(?![-'’])", re.IGNORECASE)


def _shift(replacement: Replacement, sentence: AnswerSentence) -> Replacement:
    return Replacement(sentence.start + replacement.start, sentence.start + replacement.end, replacement.text)


NEGATION = CorruptionKind("negation", "a negation is added or removed", change_negations)
QUANTIFIER = CorruptionKind("quantifier", "a quantifier or a comparison changes", change_quantifiers)
RELATION = CorruptionKind("relation", "a word becomes its opposite, or another relation", change_relations)
ADDITION = CorruptionKind("addition", "a claim is added that could be true", add_claims)
CONDITION = CorruptionKind("condition", "a condition or a limiting word is dropped", drop_conditions, True)
