"""The entailment model in the package: a small cross-encoder, run by onnxruntime. No torch, no network.

It also says of each word of a hypothesis whether the premise supports it, in the same pass.

Its weights are stored as int8 and are expanded to float32 when loaded, so that answers do not depend on the
batch, as they would with int8 arithmetic. `model.json` beside them names model and revision, and holds the SHA-256 of
the files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.models.backends import INT8, Backend
from troth.models.batches import Batch, Cutting, Room, batch_by_length, columns, compute_batched, replace_surrogates
from troth.models.protocols import Entailment, Lm, TextPair, WordedEntailment
from troth.models.verified import fault

FOLDER = Path(__file__).parent / "entailment"
LM = "smollm2-135m-instruct"
DOUBTS, WORDS = "doubts", "words"  # an output of the model; the key of a row for the words of its hypothesis
AGAIN = "install troth again"

Row = dict[str, list[int]]  # a pair in tokens: `input_ids`, and whatever else its model takes
_WORD = re.compile(r"\S+")


class CrossEncoder(Cutting[TextPair]):
    """An entailment model: a pair becomes one row of tokens, a row becomes three probabilities.

    A pair longer than the model reads loses the beginning of its premise: the utterance in question is at the end,
    after what was said before. The hypothesis stays whole unless it leaves the premise less than a quarter of what the
    model reads; then it loses its end.
    """

    room: Room

    def encode(self, pairs: Sequence[TextPair]) -> dict[TextPair, Row]:
        """Each distinct pair in tokens; adds to `shortened`."""
        raise NotImplementedError

    def classify(self, rows: Sequence[Row]) -> list[Entailment]:
        """The model's answers for one batch."""
        raise NotImplementedError

    def plan(self, items: Sequence[TextPair]) -> list[Batch]:
        rows = self.encode(items)
        return batch_by_length([len(rows[pair]["input_ids"]) for pair in items], self.room)

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        rows = self.encode(pairs)

        def plan(items: Sequence[TextPair]) -> list[Batch]:
            return batch_by_length([len(rows[pair]["input_ids"]) for pair in items], self.room)

        return compute_batched(pairs, lambda asked: self.classify([rows[pair] for pair in asked]), plan)


def entailments(logits: Any, order: Sequence[int]) -> list[Entailment]:
    """Softmax in double precision; `order` gives the columns of entailment, neutral and contradiction."""
    values = np.asarray(logits, dtype=np.float64)[:, list(order)]
    if not np.isfinite(values).all():
        raise UserError("the entailment model gives numbers that are not finite", hint="are its weights damaged?")
    exponents = np.exp(values - values.max(axis=1, keepdims=True))
    return [Entailment(*row) for row in (exponents / exponents.sum(axis=1, keepdims=True)).tolist()]


class ModelCard(msgspec.Struct, frozen=True):
    name: str
    revision: str
    labels: tuple[str, ...]
    max_tokens: int
    sha256: dict[str, str]


class _Loaded(NamedTuple):
    tokenizer: Any
    session: Any
    outputs: list[str]
    first: int  # [CLS]
    between: int  # [SEP]
    padding: int


class EmbeddedNli(CrossEncoder):
    """The model in `folder`. It is loaded, and its files are checked, when the first pair is asked."""

    # Measured on a CPU: larger batches pad more and gain nothing, and padding costs as much as text.
    room = Room(items=16, units=8192, least=0.7)

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__()
        self.folder, self.card = folder, card(folder)

    @property
    def name(self) -> str:
        return f"{self.card.name}@{self.card.revision}-{self.card.sha256.get('model.onnx', '')[:8]}"

    def encode(self, pairs: Sequence[TextPair]) -> dict[TextPair, Row]:
        """Each distinct text is tokenised once: many pairs share a premise."""
        model = self._model
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        encodings = model.tokenizer.encode_batch([replace_surrogates(text) for text in texts], add_special_tokens=False)
        tokens = {text: encoding.ids for text, encoding in zip(texts, encodings, strict=True)}
        places = {text: encoding.offsets for text, encoding in zip(texts, encodings, strict=True)}
        words = {text: _words_of(text, places[text]) for text in {hypothesis for _, hypothesis in pairs}}
        rows = {}
        for pair in dict.fromkeys(pairs):
            premise, hypothesis = truncate_pair(tokens[pair[0]], tokens[pair[1]], self.card.max_tokens)
            if len(premise) + len(hypothesis) < len(tokens[pair[0]]) + len(tokens[pair[1]]):
                self.shortened.add(pair)
            ids = [model.first, *premise, model.between, *hypothesis, model.between]
            kinds = [0] * (len(premise) + 2) + [1] * (len(hypothesis) + 1)
            rows[pair] = {
                "input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": kinds,
                WORDS: words[pair[1]],
            }  # fmt: skip
        return rows

    def classify(self, rows: Sequence[Row]) -> list[Entailment]:
        inputs = [{name: row[name] for name in row if name != WORDS} for row in rows]
        logits, *doubts = self._model.session.run(self._model.outputs, columns(inputs, self._model.padding))
        answers = entailments(logits, [self.card.labels.index(label) for label in Entailment._fields])
        if not doubts:  # a model that judges no words
            return answers
        return [_with_doubts(*of_pair) for of_pair in zip(answers, rows, doubts[0], strict=True)]

    @cached_property
    def _model(self) -> _Loaded:
        with requiring("nli"):
            import onnxruntime
            import tokenizers
        if wrong := fault(self.folder, self.card.sha256):
            raise UserError(wrong, hint=AGAIN)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leaves the cores to others
        file = str(self.folder / "model.onnx")
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        outputs = ["logits", *(output.name for output in session.get_outputs() if output.name == DOUBTS)]
        return _Loaded(
            tokenizer, session, outputs, *(tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[PAD]"))
        )


def _words_of(text: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """The number of words, by white space, and then of each token the word that it is part of."""
    starts = [match.start() for match in _WORD.finditer(text)]
    return [len(starts), *(max(0, bisect_right(starts, start) - 1) for start, _ in places)]


def _with_doubts(answer: Entailment, row: Row, logits: Any) -> Entailment:
    """The answer with the doubt of each word: that of its most doubtful token. What was cut off is not in doubt."""
    number, *words = row[WORDS]
    kinds = row["token_type_ids"]
    first = len(kinds) - sum(kinds)
    doubts = bytearray(number)
    whole = np.rint(255 / (1 + np.exp(-np.asarray(logits, dtype=np.float64)))).astype(int)
    for word, doubt in zip(words, whole[first : len(kinds) - 1].tolist(), strict=False):
        doubts[word] = max(doubts[word], doubt)
    return WordedEntailment.of(answer, bytes(doubts))


def truncate_pair(premise: list[int], hypothesis: list[int], limit: int) -> tuple[list[int], list[int]]:
    """Premise and hypothesis cut to the limit, less the three special tokens around them."""
    room = limit - 3
    if len(premise) + len(hypothesis) <= room:
        return premise, hypothesis
    hypothesis = hypothesis[: room - min(len(premise), limit // 4)]
    rest = room - len(hypothesis)
    return premise[-rest:] if rest else [], hypothesis


@cache
def vocabulary() -> frozenset[str]:
    """The whole words that the tokenizer knows: about 20,000 of English, and some of other languages."""
    file = FOLDER / "tokenizer.json"
    with reading(file, "the embedded entailment model is not complete", hint=AGAIN):
        words = msgspec.json.decode(file.read_bytes(), type=_TokenizerFile).model.vocab
    return frozenset(word for word in words if len(word) > 1 and word.isalpha())


class _TokenizerModel(msgspec.Struct):
    vocab: dict[str, int]


class _TokenizerFile(msgspec.Struct):
    model: _TokenizerModel


def card(folder: Path = FOLDER) -> ModelCard:
    file = folder / "model.json"
    with reading(file, "the embedded entailment model is not complete", hint=AGAIN):
        return msgspec.json.decode(file.read_bytes(), type=ModelCard)


@cache
def _nli() -> EmbeddedNli:
    """One for the process: whoever scores again and again loads it once."""
    return EmbeddedNli()


def _lm(_: str, *, int8: bool = False) -> Lm:
    from troth.models import hub
    from troth.models.hf import HfLm

    return HfLm(hub.embedded_files(LM), int8=int8)


BACKEND = Backend(
    "embedded",
    "the default: troth-nli for entailment, smollm2-135m-instruct as language model; works offline",
    nli=lambda _: _nli(),
    lm=_lm,
    modifiers=INT8,
)
