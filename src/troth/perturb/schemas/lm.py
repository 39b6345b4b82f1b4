"""Names and descriptions of a schema in other words, by a language model.

The model continues a prompt with examples, one line at a time, with a new draw for each variant. Its answers are
checked: a description must keep numbers, negations, quoted values, names and a third of its length; a name must have
one to five words. With an entailment model, old and new must entail each other. Refused answers are counted by reason,
and an element without any other wording does not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from troth.core.progress import bar
from troth.core.records import Schema, Service
from troth.models import Lm, Nli
from troth.perturb.schemas.variants import Paraphrases, texts, wordings
from troth.perturb.users import guard
from troth.text.identifiers import make_identifier

TRIES = 3  # rounds per variant
MAX_TOKENS = 96
LONGEST_NAME = 5  # words
QUOTED = re.compile(r"`[^`]+`|'[^'\s][^']*'|\"[^\"]+\"|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b")
NAME_LOST = "quoted value or name lost"
NO_NAME = "no name"
SHORTER = "much shorter"  # "Nothing." has a negation, as "that has not been shipped" has, and says none of it
SHORTEST = 1 / 3  # of the words of a description
UNCHANGED, ENTAILED = guard.UNCHANGED, guard.ENTAILED

NAME_PROMPT = """\
Each line has the name of a field or function and, in brackets, what it is. Write another name with the same meaning.

Name: departure date (The day of the flight)
Other name: day of leaving

Name: get user details (Look up a customer)
Other name: show customer profile

Name: {text}
Other name:"""
DESCRIPTION_PROMPT = """\
Say each description in other words, with the same meaning. Keep numbers, quoted values and names such as user_id.

Description: The city that the flight with the given flight_id leaves from.
In other words: Where the plane of this flight_id takes off.

Description: Number of people, such as '2'.
In other words: How many persons there are, for example '2'.

Description: {text}
In other words:"""


class _Item(NamedTuple):
    """A text to be reworded. A name has the description of its element, which is part of the prompt."""

    text: str
    is_name: bool
    about: str = ""

    @property
    def prompt(self) -> str:
        if not self.is_name:
            return DESCRIPTION_PROMPT.format(text=self.text)
        return NAME_PROMPT.format(text=f"{self.text} ({self.about})" if self.about else self.text)


def paraphrase_schema(
    schema: Schema, lm: Lm, *, nli: Nli | None = None, count: int, temperature: float = 0.8, seed: int = 0
) -> tuple[Paraphrases, Counter[str]]:
    """Other wordings of all names and descriptions, at most `count` of each, and the number of refusals by reason."""
    items = {path: item for service in schema.values() for path, item in _items(service).items()}
    accepted: dict[_Item, list[str]] = {item: [] for item in items.values() if item.text}
    refused: Counter[str] = Counter()
    rounds = TRIES * count
    with bar("rewording") as step:
        for number in range(rounds):
            open_ = [item for item, said in accepted.items() if len(said) < count]
            if not open_:
                break
            prompts = [item.prompt for item in open_]
            answers = lm.generate(prompts, max_tokens=MAX_TOKENS, temperature=temperature, seed=seed + number)
            lines = {item: _line(answer, item) for item, answer in zip(open_, answers, strict=True)}
            _judge(lines, accepted, refused, nli)
            step(number + 1, rounds)
    said = {path: tuple(accepted.get(item, ())) for path, item in items.items()}
    paraphrases = {
        service.name: wordings(service, lambda service, path, _text: said[service.name, path])
        for service in schema.values()
    }
    return paraphrases, refused


def _items(service: Service) -> dict[tuple[str, str], _Item]:
    items = {}
    about = {path: text for path, text in texts(service) if not path.endswith("/name")}
    for path, text in texts(service):
        is_name = path.endswith("/name")
        described = about.get(path.removesuffix("/name") + "/description", "") if is_name else ""
        items[service.name, path] = _Item(text, is_name, " ".join(described.split()))
    return items


def _line(answer: str, item: _Item) -> str:
    """The first line of an answer, without quotation marks and without the label that some models repeat."""
    line = (answer.strip().splitlines() or [""])[0].strip()
    line = re.sub(r"^(?:other name|in other words|name|description):\s*", "", line, flags=re.IGNORECASE)
    if item.is_name:
        line = re.sub(r"\s*\(.*", "", line).rstrip(".")
    quoted = len(line) > 2 and line[0] == line[-1] and line[0] in "\"'`"
    return line[1:-1] if quoted else line


def _judge(answers: dict[_Item, str], accepted: dict[_Item, list[str]], refused: Counter[str], nli: Nli | None) -> None:
    """Adds valid answers to `accepted`, and counts the reasons of the others in `refused`."""
    fit: list[tuple[_Item, str]] = []
    for item, answer in answers.items():
        reason = _refuse_name(item, answer) if item.is_name else _refuse_description(item.text, answer)
        if reason is not None:
            refused[reason] += 1
        elif answer not in accepted[item]:
            fit.append((item, answer))
    pairs = [(_sentence(item, item.text), _sentence(item, answer)) for item, answer in fit]
    for (item, answer), same in zip(fit, _entail_each_other(pairs, nli), strict=True):
        if same:
            accepted[item].append(answer)
        else:
            refused[ENTAILED] += 1


def _refuse_name(item: _Item, answer: str) -> str | None:
    if not 1 <= len(answer.split()) <= LONGEST_NAME or not re.fullmatch(r"[A-Za-z][\w' -]*", answer):
        return NO_NAME
    return UNCHANGED if make_identifier(answer, "a_b") == make_identifier(item.text, "a_b") else None


def _refuse_description(old: str, new: str) -> str | None:
    if not new or guard.tokens(new) == guard.tokens(old):
        return UNCHANGED
    if any(quoted not in new for quoted in QUOTED.findall(old)):
        return NAME_LOST
    if len(new.split()) < SHORTEST * len(old.split()):
        return SHORTER
    return guard.find_change(old, new)


def _sentence(item: _Item, text: str) -> str:
    """The sentence for the entailment model; a name alone is not a sentence."""
    return f"This is the {text.replace('_', ' ')}." if item.is_name else text


def _entail_each_other(pairs: Sequence[tuple[str, str]], nli: Nli | None) -> list[bool]:
    if nli is None or not pairs:
        return [True] * len(pairs)
    verdicts = nli.probabilities([*pairs, *((new, old) for old, new in pairs)])
    return [a.entailed and b.entailed for a, b in zip(verdicts[: len(pairs)], verdicts[len(pairs) :], strict=True)]
