"""Paraphrases by a language model, and the rules that its wordings have to pass beside the guard's.

Values, numbers, names and times of a turn are marks in the prompt ([A], [B], …) and are put back into the answer, so
that the model cannot change them. Small models answer a message in place of rewording it, turn a wish into a question
of the assistant, or add what they saw in the examples; `find_drift` refuses that. `check_paraphrase` (guard.py) is
asked as well, and an entailment model has the last word.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

from troth.core.records import Turn
from troth.models import Lm
from troth.perturb.lexicon import word_set
from troth.perturb.users import guard
from troth.perturb.users.engines import Failed, Rewrite

MARKS = string.ascii_uppercase
MANY = Failed("more values than marks")
MALFORMED = Failed("lm: no usable answer")
LENGTH = "length changed"
MOOD = "question or statement changed"
COURTESY = "thanks, end or farewell changed"
ADDED = "name added"
VOICE = "answered, not reworded"

PROMPT = """\
Lines of customers, each said again in completely different words: same meaning, same speaker, every [mark] kept.

Line: I want to find a cheap hotel in [A] for [B] nights.
Reworded: Please look up somewhere inexpensive to stay around [A], [B] nights long.

Line: What is their phone number, and do they have live music?
Reworded: How can we call this place? Also tell me whether bands perform there.

Line: Yes, that sounds good to me.
Reworded: Sure, I'm happy with this.

Line: I will leave from [A] on [B].
Reworded: My departure is from [A], [B] being the day.

Line: Is there anything else? I would prefer a cheaper one.
Reworded: Could you show me other options, something less expensive?

Line: No, that's all I need. Thanks for your help.
Reworded: Nothing more today, you were very kind, thank you.

Line: {text}
Reworded:"""

_MARK = re.compile(r"\[([A-Z])\]")
_END = re.compile(r"\n|\s(?=Line:)")
_LABEL = re.compile(r"^(?:reworded|line)\s*:\s*", re.IGNORECASE)
_ASKS = re.compile(
    r"\?|(?:^|[.!,;:] *|\b(?:please|and|now|then|also|you|ahead) )(?:tell|show|find|give|get|search|look|help|check|let"
    r"|book|reserve|make|play|pick|buy|add|pay|send|transfer|rent|provide|go)\b"
    r"|\b(?:i|we)(?:'d| would| will|'ll|'m| am|'re| are)? (?:really |also )?(?:like|want|need|love|prefer|wish|wonder"
    r"|looking|searching|hoping|interested|curious)\b|\blooking for\b",
    re.IGNORECASE,
)
_THANKS = re.compile(r"\b(?:thank|thanks|thx|cheers|grateful|gratitude|appreciate[ds]?)\b", re.IGNORECASE)
_FAREWELL = re.compile(r"\b(?:bye|goodbye|farewell|see you|(?:nice|great|good|lovely) (?:day|one))\b", re.IGNORECASE)
_CLOSING = re.compile(
    r"\b(?:that(?:'s| is|s| will be|'ll be|'d be| would be) (?:all|it|everything)|nothing (?:else|more|further)|done"
    r"|finished|all set|good for now|all i (?:need|want)(?:ed)?)\b",
    re.IGNORECASE,
)
_ASSISTANT = re.compile(
    r"\b(?:(?:would|do|did|are|have|were) you (?:like|want|need|looking|interested|prefer|wish|planning|going)"
    r"|(?:can|may|could|how can|let) (?:i|me) (?:help|assist|find you|get you|book you|show you)|you(?:'d| would) like"
    r"|(?:i'm|i am|we're) sorry|you(?:'re| are) welcome|as an ai|your (?:request|question|message|order|plans?))\b",
    re.IGNORECASE,
)


class LmParaphraser:
    """Asks a language model. The seed of a call is that of its first turn."""

    varies = True

    def __init__(self, lm: Lm, temperature: float) -> None:
        self.lm, self.temperature = lm, temperature

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        answers: list[str | Failed] = [MANY] * len(requests)
        by_length: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            if len(request.stretches) <= len(MARKS):
                by_length.setdefault(_max_tokens(request.text), []).append(index)
        for max_tokens, indices in sorted(by_length.items()):
            prompts = [PROMPT.format(text=_mark_values(requests[index])) for index in indices]
            seed = requests[indices[0]].seed % 2**31
            texts = self.lm.generate(prompts, max_tokens=max_tokens, temperature=self.temperature, seed=seed)
            for index, text in zip(indices, texts, strict=True):
                answers[index] = _restore(requests[index], text)
        return answers


def _max_tokens(text: str) -> int:
    """Enough for a paraphrase, and the limit of a model that only continues. In steps, so that turns share calls."""
    return 8 * math.ceil((1.5 * len(text.split()) + 8) / 8)


def _mark_values(request: Rewrite) -> str:
    text = request.text
    for mark, part in reversed(list(zip(MARKS, request.stretches, strict=False))):
        text = f"{text[: part.start]}[{mark}]{text[part.end :]}"
    return " ".join(text.split())


def _restore(request: Rewrite, answer: str) -> str | Failed:
    """The first line of an answer with the values in place of their marks; each at most once."""
    line, *ended = _END.split(answer.strip(" ").lstrip("\n"), maxsplit=1)
    line = _LABEL.sub("", line).strip()
    if len(line) > 2 and (line[0], line[-1]) in (('"', '"'), ("“", "”")):
        line = line[1:-1]
    if not line or (not ended and line[-1] not in ".!?…"):  # nothing, or broken off
        return MALFORMED
    values = dict(zip(MARKS, (request.text[part.start : part.end] for part in request.stretches), strict=False))
    marks = Counter(_MARK.findall(line))
    if any(mark not in values for mark in marks) or any(count > 1 for count in marks.values()):
        return Failed(guard.GARBLED)
    return _MARK.sub(lambda match: values[match[1]], line)


def check_wording(turn: Turn, stretches: Sequence[guard.Stretch], new: str) -> Turn | str:
    """The turn with its new text and moved spans, or the reason why guard or `find_drift` refuse it."""
    checked = guard.check_paraphrase(turn, stretches, new, roles_stay=True)
    return checked if isinstance(checked, str) else find_drift(turn.text, checked.text) or checked


def find_drift(old: str, new: str) -> str | None:
    """Changes by a language model that the guard does not check: acts, voice, length, added names."""
    before, after = guard.tokens(old), guard.tokens(new)
    if not 0.4 * len(before) - 1 <= len(after) <= 1.6 * len(before) + 4:
        return LENGTH
    if _ASSISTANT.search(new) and not _ASSISTANT.search(old):
        return VOICE
    if bool(_ASKS.search(old)) != bool(_ASKS.search(new)):
        return MOOD
    if any(bool(words.search(old)) != bool(words.search(new)) for words in (_THANKS, _FAREWELL, _CLOSING)):
        return COURTESY
    known = set(before) | word_set("small")
    return ADDED if any(name not in known for name in guard.find_names(new)) else None


def share_replaced(old: str, new: str) -> float:
    """Words of the original that the paraphrase does not have, ignoring order, by the words of the original."""
    before = Counter(guard.tokens(old))
    return (before - Counter(guard.tokens(new))).total() / max(1, before.total())
