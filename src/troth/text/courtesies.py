"""Sentences that claim nothing: questions to the user, and courtesies such as "You are welcome!" or "I agree.".

Lead-ins ("Here is what I found:") and remarks that something was not found are among the courtesies.

No document supports them, and none has to: beside sentences that do claim something, they have no part in a response's
value. In doubt a sentence claims something: one with a number, a negative question ("Wasn't it built by Kay?"), and
what is told as a question ("Did you hear that it closed?"). The words are English (`speech.toml`).
"""

from __future__ import annotations

import re
from functools import cache

from troth.text.lexicon import load_table

NO_CLAIM = "no claim"  # what troth says of such a sentence
LONGEST = 14  # words of a courtesy; patterns that repeat take exponential time on longer clauses
_CLAUSE = re.compile(r"[,;:–—!.?]+|\s-+\s")
_ASKS = re.compile(r"\?[\W_]*$")
_SPACE = re.compile(r"[^\w']+|_+")


def claims_nothing(sentence: str) -> bool:
    """Whether a sentence only asks, or is a courtesy.

    >>> claims_nothing("Would you like me to book it?"), claims_nothing("Did you know that it won in 1998?")
    (True, False)
    """
    if any(letter.isdigit() for letter in sentence):
        return False
    clauses = [_SPACE.sub(" ", clause).strip() for clause in _CLAUSE.split(sentence.lower().replace("’", "'"))]
    if len(clauses) == 2 and sentence.rstrip().endswith(":") and _pattern("leads").fullmatch(clauses[0]):
        return True
    rest = [clause for clause in clauses if clause and not _is_courtesy(clause)]
    if not rest or not _ASKS.search(sentence):
        return not rest
    return all(_pattern("questions").match(clause) and not _pattern("told").search(clause) for clause in rest)


def _is_courtesy(clause: str) -> bool:
    return clause.count(" ") < LONGEST and bool(_pattern("courtesies").fullmatch(clause))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The pattern of any line of a list; of courtesies, of several."""
    lines = load_table("speech")[name].strip().splitlines()
    joined = "|".join(f"(?:{line.replace(' …', '(?: [^ ]+){0,8}')})" for line in lines)
    frames = {"courtesies": "(?:(?:%s)(?: |$))+", "questions": r"(?:(?:and|or|but|so) )?(?:%s)\b"}
    return re.compile(frames.get(name, "%s") % joined)
