"""Q² (Honovich et al., 2021): do the response and the document answer the same questions alike?

For each answer candidate of the response (a name, a number, a noun phrase) a model asks questions. A question is valid
if the answering model, given the response, finds the candidate again. The same model answers it from the document, and
the two answers are compared:

- no answer in the document: 0
- the same words (token F1 of 1): 1
- otherwise by entailment of `{question} {candidate}.` from `{question} {document's answer}.`: entailed 1,
  contradicted 0, neither: the token F1

The response's value is the mean over its questions. Where no question is valid, entailment of the response by the
document decides: 1, 0, or one half. This follows the authors' code, with these differences:

- Candidates there are entities and noun chunks of spaCy's trained English model; here they come from rules
  (`candidates:rules`): runs of words without stop words and punctuation.
- Of several questions the first valid one counts (`q_per_cand single`); questions about speaker or listener ("you",
  "my") are left out, here by their words and there by their grammar.
- A long document is read in overlapping windows, and the surest answer is taken.

The models that ask, answer and compare are arguments: any objects with the same methods work.
"""

from __future__ import annotations

import re
import string
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from troth.core.metric import Metric
from troth.core.records import Grounded
from troth.core.signature import recipe_text
from troth.grounding.metrics import Value, faithfulness
from troth.grounding.overlap import english_tokenizer, f1
from troth.grounding.transformer import Transformer
from troth.models import Entailment, Nli, TextPair
from troth.models.batches import Room, model_inputs, pad_rows, plan_batches, replace_surrogates, tensors
from troth.models.cached import compute_cached_pairs
from troth.models.hub import ModelFiles, source, tokenizing
from troth.storage.cache import Store

Q2 = faithfulness(
    "q2", "Q²", "how alike response and document answer questions about the response",
    needs=("questions", "answers", "nli"), compute=lambda models: QuestionAnswering(
        HfQuestioner(source(models.questions)), HfAnswerer(source(models.answers)), models.entailment_model,
        models.store,
    ), top=1.0,
)  # fmt: skip
ROOM = Room(items=16, units=4096)
CHUNK = 32
QUESTIONS = 5  # per candidate; also the width of the beam that they come from
QUESTION_TOKENS = 64
ANSWER_TOKENS = 30

_VALUE = struct.Struct("<dI")
PERSONAL = re.compile(r"\b(i|you|my|your|me|we|our)\b", re.IGNORECASE)
_LITTLE = re.compile(r"\b(a|an|the|in|our)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def find_candidates(text: str) -> list[str]:
    """Answer candidates: runs of words that are neither stop words nor punctuation, each once.

    Numbers count even if they are stop words, and so do capitalised words that continue a name (Home Alone).
    """
    spans: list[tuple[int, int]] = []
    for token in english_tokenizer()(text):
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
    texts = dict.fromkeys(text[begin:end] for begin, end in spans)
    return list({candidate.lower(): candidate for candidate in reversed(texts)}.values())[::-1]


def normalise_answer(text: str) -> str:
    """An answer for comparison: lower case, no punctuation, no articles; as in the authors' code."""
    return " ".join(_LITTLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(expected: str, answer: str) -> float:
    gold, words = Counter(normalise_answer(expected).split()), Counter(normalise_answer(answer).split())
    return f1((gold & words).total(), gold.total(), words.total())


class AnsweredQuestion(NamedTuple):
    """A valid question with both answers, and how alike they are."""

    question: str
    candidate: str
    answer: str  # the document's; empty: none
    value: float


@dataclass(frozen=True)
class QuestionAnswering:
    """Asks about the response, and compares the answers of response and document."""

    questioner: HfQuestioner
    answerer: HfAnswerer
    nli: Nli
    store: Store
    metric: Metric = Q2

    @property
    def recipe(self) -> dict[str, Any]:
        models = {"ask": self.questioner.name, "answer": self.answerer.name, "compare": self.nli.name}
        asked = {"candidates": "rules", "questions": f"{QUESTIONS}-first", "personal": "no"}
        return models | asked | {"window": "surest", "fallback": "whole-document"}

    @property
    def remarks(self) -> Sequence[str]:
        cut = self.nli.cut
        return [f"{cut} texts were longer than the entailment model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        pairs = [(item.document, item.response) for item in items]
        parts = ("q2", recipe_text(self.recipe))
        stored = compute_cached_pairs(
            self.store, self.answerer.name, pairs, self._compute, key_parts=parts, chunk=CHUNK
        )
        return [float(_VALUE.unpack(value)[0]) for value in stored]

    def _compute(self, pairs: Sequence[TextPair]) -> list[bytes]:
        values, questions = [], self.questions(pairs)
        fallback = [pair for pair, valid in zip(pairs, questions, strict=True) if not valid]
        entailments = iter(self.nli.probabilities(fallback)) if fallback else iter(())
        for valid in questions:
            value = sum(q.value for q in valid) / len(valid) if valid else _likeness(next(entailments), 0.5)
            values.append(_VALUE.pack(value, len(valid)))
        return values

    def questions(self, pairs: Sequence[TextPair]) -> list[list[AnsweredQuestion]]:
        """The valid questions of each (document, response), at most one per candidate."""
        about = [(number, text) for number, (_, response) in enumerate(pairs) for text in find_candidates(response)]
        questions = self.questioner.questions([(text, pairs[number][1]) for number, text in about])
        tried = [
            (index, question)
            for index, texts in enumerate(questions)
            for question in dict.fromkeys(texts)
            if question.strip() and not PERSONAL.search(question)
        ]
        again = self.answerer.answers([(question, pairs[about[index][0]][1]) for index, question in tried])
        valid: dict[int, str] = {}
        for (index, question), answer in zip(tried, again, strict=True):
            said = normalise_answer(answer)
            if index not in valid and said and said == normalise_answer(about[index][1]):
                valid[index] = question
        answers = self.answerer.answers([(question, pairs[about[index][0]][0]) for index, question in valid.items()])
        both = zip(valid.items(), answers, strict=True)
        values = self._compare([(about[index][1], question, answer) for (index, question), answer in both])
        answered: list[list[AnsweredQuestion]] = [[] for _ in pairs]
        for (index, question), answer, value in zip(valid.items(), answers, values, strict=True):
            number, candidate = about[index]
            answered[number].append(AnsweredQuestion(question, candidate, answer, value))
        return answered

    def _compare(self, answers: Sequence[tuple[str, str, str]]) -> list[float]:
        """How alike the two answers of each (candidate, question, document's answer) are."""
        values = [token_f1(candidate, answer) if answer else 0.0 for candidate, _, answer in answers]
        unsure = [index for index, (_, _, answer) in enumerate(answers) if answer and values[index] < 1]
        pairs = [
            (f"{question} {answer}.", f"{question} {candidate}.")
            for candidate, question, answer in (answers[index] for index in unsure)
        ]
        for index, entailment in zip(unsure, self.nli.probabilities(pairs) if pairs else [], strict=True):
            values[index] = _likeness(entailment, values[index])
        return values


def _likeness(entailment: Entailment, neutral: float) -> float:
    if entailment.entailed:
        return 1.0
    return 0.0 if entailment.contradiction > max(entailment.entailment, entailment.neutral) else neutral


class HfQuestioner(Transformer):
    """An encoder-decoder trained to ask, on `answer: …  context: …`."""

    head = "AutoModelForSeq2SeqLM"

    def __init__(self, files: ModelFiles, *, number: int = QUESTIONS) -> None:
        super().__init__(files)
        self.number = number

    def questions(self, asked: Sequence[TextPair]) -> list[list[str]]:
        import torch

        if not asked:
            return []
        tokenizer, model, limit = self.loaded
        texts = [replace_surrogates(f"answer: {answer}  context: {text}") for answer, text in asked]
        with tokenizing(self.name):
            rows = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
        questions: list[list[str]] = [[] for _ in asked]
        for batch in plan_batches([len(row) for row in rows], ROOM):
            inputs = pad_rows([rows[index] for index in batch], tokenizer.pad_token_id or 0)
            with torch.inference_mode():
                generated = model.generate(
                    torch.from_numpy(inputs.ids), attention_mask=torch.from_numpy(inputs.mask), num_beams=self.number,
                    num_return_sequences=self.number, no_repeat_ngram_size=3, early_stopping=True, do_sample=False,
                    max_new_tokens=QUESTION_TOKENS,
                )  # fmt: skip
            decoded = tokenizer.batch_decode(generated, skip_special_tokens=True)
            for index, start in zip(batch, range(0, len(decoded), self.number), strict=True):
                beam = decoded[start : start + self.number]
                questions[index] = [str(text).replace("question: ", "", 1).strip() for text in beam]
        return questions


class _Window(NamedTuple):
    """A question with one window of the text, in tokens."""

    owner: int  # which question it belongs to
    columns: dict[str, list[int]]
    offsets: list[tuple[int, int]]  # where each token is in the text
    inside: list[bool]  # whether it is a token of the text


class HfAnswerer(Transformer):
    """A model of extractive question answering that points to the beginning where there is no answer."""

    head = "AutoModelForQuestionAnswering"

    def answers(self, asked: Sequence[TextPair]) -> list[str]:
        with tokenizing(self.name):
            windows = [window for number, pair in enumerate(asked) for window in self._windows(number, pair)]
        best: list[tuple[float, str]] = [(float("-inf"), "")] * len(asked)
        for batch in plan_batches([len(window.inside) for window in windows], ROOM):
            inputs = [windows[index] for index in batch]
            for window, (sure, begin, end) in zip(inputs, self._read(inputs), strict=True):
                best[window.owner] = max(best[window.owner], (sure, asked[window.owner][1][begin:end].strip()))
        return [answer for _, answer in best]

    def _windows(self, owner: int, pair: TextPair) -> list[_Window]:
        tokenizer, _, limit = self.loaded
        question, text = pair
        first = tokenizer(replace_surrogates(question), add_special_tokens=False)["input_ids"]
        short = question if len(first) <= limit // 2 else tokenizer.decode(first[: limit // 2])
        free = limit - tokenizer.num_special_tokens_to_add(pair=True) - min(len(first), limit // 2)
        encoded = tokenizer(
            replace_surrogates(short), replace_surrogates(text), truncation="only_second", max_length=limit,
            stride=free // 4, return_overflowing_tokens=True, return_offsets_mapping=True,
        )  # fmt: skip
        columns = model_inputs(encoded)
        inside = [[part == 1 for part in encoded.sequence_ids(row)] for row in range(len(columns))]
        return [_Window(owner, *window) for window in zip(columns, encoded["offset_mapping"], inside, strict=True)]

    def _read(self, windows: Sequence[_Window]) -> list[tuple[float, int, int]]:
        """How sure the best answer of each window is against none, and where it begins and ends."""
        import torch

        tokenizer, model, _ = self.loaded
        with torch.inference_mode():
            output = model(**tensors([window.columns for window in windows], tokenizer.pad_token_id))
        starts, ends = output.start_logits.double(), output.end_logits.double()
        answers = []
        for index, window in enumerate(windows):
            inside, count = torch.tensor(window.inside), len(window.inside)
            pairs = starts[index, :count, None] + ends[index, None, :count]
            near = torch.ones(count, count, dtype=torch.bool).triu().tril(ANSWER_TOKENS - 1)
            pairs = pairs.masked_fill(~(inside[:, None] & inside[None, :] & near), -torch.inf)
            top = int(pairs.argmax())
            if (sure := float(pairs.flatten()[top]) - float(starts[index, 0] + ends[index, 0])) > 0:
                answers.append((sure, window.offsets[top // count][0], window.offsets[top % count][1]))
            else:
                answers.append((0.0, 0, 0))
        return answers
