"""Q² (Honovich et al., 2021): are questions about the response answered alike by the document?

For each answer candidate of the response (a name, a number, a noun phrase) a model asks questions. A question is valid
if the answering model, given the response, finds the candidate again. The same model answers it from the document, and
the two answers are compared:

- no answer in the document: 0
- the same words (token F1 of 1): 1
- else by entailment of `{question} {candidate}.` from `{question} {document's answer}.`: entailed 1, contradicted 0,
  neither: the token F1

The response's value is the mean over its questions. Where no question is valid, entailment of the response by the
document decides: 1, 0, or one half. All this as in the authors' code, of which these parts differ:

- Candidates there are entities and noun chunks of spaCy's trained English model, here those of rules
  (`candidates:rules`): runs of words without stop words and punctuation.
- Of several questions the first valid one counts (`q_per_cand single`); questions about speaker or listener ("you",
  "my") are left out, by their words here and by their grammar there.
- A long document is read in overlapping windows, and the answer that is surest is taken.

The three models are given: who asks, who answers, who compares. Any with the same methods will do.
"""

from __future__ import annotations

import re
import string
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding.metrics import Models, Progress, Value
from troth.models import Nli, Pair
from troth.models.batches import Room, encodable, planned
from troth.models.hf import ENTAILMENT, reach
from troth.models.hub import Source, load, source
from troth.models.remembered import remembered
from troth.storage.cache import Store, key

ROOM = Room(items=16, units=4096)
CHUNK = 32
QUESTIONS = 5  # a candidate; also the width of the beam that they come from
WORDS = 64  # of a question, in tokens
SPAN = 30  # tokens of an answer at most

_VALUE = struct.Struct("<dI")
_PERSONAL = re.compile(r"\b(i|you|my|your|me|we|our)\b", re.IGNORECASE)
_LITTLE = re.compile(r"\b(a|an|the|in|our)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Questioner(Protocol):
    @property
    def name(self) -> str: ...

    def questions(self, asked: Sequence[Pair]) -> list[list[str]]:
        """For each (answer, text): questions about the text that have this answer, the best first."""
        ...


class Answerer(Protocol):
    @property
    def name(self) -> str: ...

    def answers(self, asked: Sequence[Pair]) -> list[str]:
        """For each (question, text): the answer, as words of the text; empty where there is none."""
        ...


Candidates = Callable[[str], list[str]]


# -- the parts without a model -----------------------------------------------------------------------------------------


def candidates(text: str) -> list[str]:
    """What can be asked about: runs of words that are neither stop words nor punctuation, each once.

    Numbers count, whatever the list of stop words says, and its words do where they go on a name (Home Alone).
    """
    spans: list[tuple[int, int]] = []
    for token in _english()(text):
        begin, end = token.idx, token.idx + len(token.text)
        joins = bool(spans) and text[spans[-1][1] : begin] in ("", " ", "-")
        named = joins and token.text[:1].isupper()
        if token.is_punct or token.is_space or not re.search(r"\w", token.text):
            continue
        if token.is_stop and not token.like_num and not named:
            continue
        if joins:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((begin, end))
    found = dict.fromkeys(text[begin:end] for begin, end in spans)
    return list({one.lower(): one for one in reversed(found)}.values())[::-1]


@cache
def _english() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise UserError("spacy is not installed", hint='pip install "troth[text]"') from error
    return spacy.blank("en")


def clean(text: str) -> str:
    """An answer for comparison: lower case, no punctuation, no articles; as in the authors' code."""
    return " ".join(_LITTLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(expected: str, found: str) -> float:
    gold, said = Counter(clean(expected).split()), Counter(clean(found).split())
    same = (gold & said).total()
    return 2 * same / (gold.total() + said.total()) if same else 0.0


def personal(question: str) -> bool:
    return bool(_PERSONAL.search(question))


# -- the pipeline ------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A valid question with both answers, and what became of it."""

    question: str
    candidate: str
    answer: str  # the document's; empty: none
    value: float


@dataclass(frozen=True)
class Q2:
    questioner: Questioner
    answerer: Answerer
    nli: Nli
    store: Store
    candidates: Candidates = candidates
    candidates_name: str = "rules"
    name: str = "q2"

    @property
    def recipe(self) -> str:
        models = f"ask:{self.questioner.name}|answer:{self.answerer.name}|compare:{self.nli.name}"
        rules = f"candidates:{self.candidates_name}|questions:{QUESTIONS}-first|personal:no"
        return f"{models}|{rules}|window:surest|fallback:whole-document"

    @property
    def remarks(self) -> Sequence[str]:
        cut = self.nli.cut
        return [f"{cut} texts were longer than the entailment model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        kept = remembered(
            self.store,
            self.answerer.name,
            [(item.document, item.response) for item in items],
            named=lambda pair: key("q2", self.recipe, *pair),
            size=lambda pair: len(pair[0]) + len(pair[1]),
            compute=self._compute,
            chunk=CHUNK,
            order=lambda pair: pair[0],
            progress=progress,
        )
        return [float(_VALUE.unpack(value)[0]) for value in kept]

    def _compute(self, pairs: Sequence[Pair]) -> list[bytes]:
        made = []
        asked = self.asked(pairs)
        fallback = [pair for pair, mine in zip(pairs, asked, strict=True) if not mine]
        verdicts = iter(self.nli.probabilities(fallback)) if fallback else iter(())
        for mine in asked:
            value = sum(one.value for one in mine) / len(mine) if mine else _verdict(next(verdicts), 0.5)
            made.append(_VALUE.pack(value, len(mine)))
        return made

    def asked(self, pairs: Sequence[Pair]) -> list[list[Asked]]:
        """For each (document, response) its valid questions, at most one a candidate."""
        about = [(number, one) for number, (_, said) in enumerate(pairs) for one in self.candidates(said)]
        questions = self.questioner.questions([(one, pairs[number][1]) for number, one in about]) if about else []
        tried = [
            (place, question)
            for place, mine in enumerate(questions)
            for question in dict.fromkeys(mine)
            if question.strip() and not personal(question)
        ]
        again = self._answers([(question, pairs[about[place][0]][1]) for place, question in tried])
        valid: dict[int, str] = {}
        for (place, question), answer in zip(tried, again, strict=True):
            if place not in valid and clean(answer) and clean(answer) == clean(about[place][1]):
                valid[place] = question
        answers = self._answers([(question, pairs[about[place][0]][0]) for place, question in valid.items()])
        both = zip(valid.items(), answers, strict=True)
        values = self._compared([(about[place][1], question, answer) for (place, question), answer in both])
        made: list[list[Asked]] = [[] for _ in pairs]
        for (place, question), answer, value in zip(valid.items(), answers, values, strict=True):
            number, candidate = about[place]
            made[number].append(Asked(question, candidate, answer, value))
        return made

    def _answers(self, asked: Sequence[Pair]) -> list[str]:
        return self.answerer.answers(asked) if asked else []

    def _compared(self, answers: Sequence[tuple[str, str, str]]) -> list[float]:
        """Of each (candidate, question, document's answer) how alike the two answers are."""
        values = [token_f1(candidate, answer) if answer else 0.0 for candidate, _, answer in answers]
        unsure = [place for place, (_, _, answer) in enumerate(answers) if answer and values[place] < 1]
        pairs = []
        for place in unsure:
            candidate, question, answer = answers[place]
            pairs.append((f"{question} {answer}.", f"{question} {candidate}."))
        for place, verdict in zip(unsure, self.nli.probabilities(pairs) if pairs else [], strict=True):
            values[place] = _verdict(verdict, values[place])
        return values


def _verdict(verdict: Any, neutral: float) -> float:
    if verdict.entailed:
        return 1.0
    return 0.0 if verdict.contradiction > max(verdict.entailment, verdict.neutral) else neutral


# -- models of transformers --------------------------------------------------------------------------------------------


class HfQuestioner:
    """An encoder-decoder trained to ask, on `answer: …  context: …`."""

    def __init__(self, source: Source, *, number: int = QUESTIONS) -> None:
        self.source, self.number = source, number
        self._loaded: tuple[Any, Any, int] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def questions(self, asked: Sequence[Pair]) -> list[list[str]]:
        import torch

        tokenizer, model, limit = self._model()
        texts = [encodable(f"answer: {answer}  context: {text}") for answer, text in asked]
        rows = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
        made: list[list[str]] = [[] for _ in asked]
        for batch in planned([len(row) for row in rows], ROOM):
            width = max(len(rows[place]) for place in batch)
            fill = tokenizer.pad_token_id or 0
            ids = torch.tensor([rows[place] + [fill] * (width - len(rows[place])) for place in batch])
            mask = torch.tensor([[1] * len(rows[place]) + [0] * (width - len(rows[place])) for place in batch])
            with torch.inference_mode():
                found = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    num_beams=self.number,
                    num_return_sequences=self.number,
                    no_repeat_ngram_size=3,
                    early_stopping=True,
                    do_sample=False,
                    max_new_tokens=WORDS,
                )
            said = tokenizer.batch_decode(found, skip_special_tokens=True)
            for place, start in zip(batch, range(0, len(said), self.number), strict=True):
                some = said[start : start + self.number]
                made[place] = [str(text).replace("question: ", "", 1).strip() for text in some]
        return made

    def _model(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModelForSeq2SeqLM")
            self._loaded = tokenizer, model, reach(tokenizer, model.config, ENTAILMENT)
        return self._loaded


class HfAnswerer:
    """A model of extractive question answering that may say that there is no answer, by pointing to the beginning."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._loaded: tuple[Any, Any, int] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def answers(self, asked: Sequence[Pair]) -> list[str]:
        tokenizer, _, limit = self._model()
        rows: list[Any] = []
        owners: list[int] = []
        for number, (question, text) in enumerate(asked):
            first = tokenizer(encodable(question), add_special_tokens=False)["input_ids"]
            short = question if len(first) <= limit // 2 else tokenizer.decode(first[: limit // 2])
            free = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(len(first), limit // 2)
            found = tokenizer(
                encodable(short), encodable(text), truncation="only_second", max_length=limit, stride=free // 4,
                return_overflowing_tokens=True, return_offsets_mapping=True,
            )  # fmt: skip
            for row in range(len(found["input_ids"])):
                own = {name: found[name][row] for name in found if name != "overflow_to_sample_mapping"}
                rows.append((own, [part == 1 for part in found.sequence_ids(row)]))
                owners.append(number)
        best: list[tuple[float, str]] = [(float("-inf"), "")] * len(asked)
        for batch in planned([len(row["input_ids"]) for row, _ in rows], ROOM):
            for row, (sure, begin, end) in zip(batch, self._read([rows[place] for place in batch]), strict=True):
                text = asked[owners[row]][1]
                best[owners[row]] = max(best[owners[row]], (sure, text[begin:end].strip()))
        return [answer for _, answer in best]

    def _read(self, rows: Sequence[Any]) -> list[tuple[float, int, int]]:
        """Of each window how sure its best answer is against none, and where it stands."""
        import torch

        tokenizer, model, _ = self._model()
        width = max(len(row["input_ids"]) for row, _ in rows)
        fill = {"input_ids": tokenizer.pad_token_id or 0}
        names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in rows[0][0]]
        given = {
            name: torch.tensor([row[name] + [fill.get(name, 0)] * (width - len(row[name])) for row, _ in rows])
            for name in names
        }
        with torch.inference_mode():
            made = model(**given)
        starts, ends = made.start_logits.double(), made.end_logits.double()
        found = []
        for place, (row, inside) in enumerate(rows):
            own = torch.tensor(inside)
            count = len(inside)
            pairs = starts[place, :count, None] + ends[place, None, :count]
            allowed = own[:, None] & own[None, :] & torch.ones(count, count, dtype=torch.bool).triu().tril(SPAN - 1)
            pairs = pairs.masked_fill(~allowed, -torch.inf)
            none = float(starts[place, 0] + ends[place, 0])
            top = int(pairs.argmax())
            sure = float(pairs.flatten()[top]) - none
            if sure > 0:
                begin, end = row["offset_mapping"][top // count][0], row["offset_mapping"][top % count][1]
                found.append((sure, begin, end))
            else:
                found.append((0.0, 0, 0))
        return found

    def _model(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            tokenizer, model = load(self.source, "AutoModelForQuestionAnswering")
            self._loaded = tokenizer, model, reach(tokenizer, model.config, ENTAILMENT)
        return self._loaded


def q2(models: Models) -> Q2:
    """Questions about the response, answered by it and by the document, and the answers compared."""
    return Q2(HfQuestioner(source(models.questions)), HfAnswerer(source(models.answers)), models.nli, models.store)
