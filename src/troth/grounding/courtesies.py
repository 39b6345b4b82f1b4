"""Sentences that claim nothing: questions, and courtesies such as "You are welcome!" or "I agree.".

No document supports them, and none has to: beside sentences that do claim something, they have no part in a response's
value. In doubt a sentence claims something. The words are English.
"""

from __future__ import annotations

import re

from troth.text.lexicon import word_set

LONGEST = 8  # words of a courtesy
JOINING = ("and", "so", "but")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")
_CLAUSE = re.compile(r"[,;:–—!.?]+|\s-+\s")
_ASKS = re.compile(r"\?[\W_]*$")
# "Did you know that the club won in 1998?" claims that it did; "do you know when it won?" claims nothing.
_TELLS = re.compile(
    r"\b(?:did|do) you (?:\w+ )?know,? (?!(?:if|whether|what|who|whom|whose|when|where|why|how|which|about|any\w*|much"
    r"|more|that\W*$)\b)\w",
    re.IGNORECASE,
)


def claims_nothing(sentence: str) -> bool:
    """Whether a sentence only asks, or is a courtesy.

    >>> claims_nothing("Would you like me to book it?"), claims_nothing("Did you know that it won in 1998?")
    (True, False)
    """
    clauses = [
        words for clause in _CLAUSE.split(sentence.lower().replace("’", "'")) if (words := _WORD.findall(clause))
    ]
    rest = [words for words in clauses if not word_set("courtesies", "speech").issuperset(words)]
    if not rest:
        return sum(map(len, clauses)) <= LONGEST
    if not _ASKS.search(sentence) or _TELLS.search(sentence):
        return False
    first = rest[0][rest[0][0] in JOINING :]
    return bool(first) and first[0] in word_set("question_words", "speech")
