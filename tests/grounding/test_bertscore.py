"""BERTScore: matching by hand, and an encoder made on the spot against the formula token by token."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.models.build import NLI_TOKENS, WORDS, nli_folder
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.grounding.bertscore import BERTSCORE, BertScore, HfEncoder, Match, Vectors, load_encoder, match_tokens
from troth.grounding.metrics import NO_RESPONSE, Models, Unscored, grade
from troth.models.hub import ModelFiles, source
from troth.storage.cache import Store

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ITEMS = [
    Grounded("1", "the room is booked for two people", "booked for two"),
    Grounded("2", "the room is booked for two people", "the train is cheap"),
    Grounded("3", "The TRAIN is nice", "the train is nice"),
]


def vectors(*rows: tuple[float, float], counts: tuple[bool, ...] | None = None) -> Vectors:
    return Vectors(np.array(rows, dtype=np.float32), np.array(counts or (True,) * len(rows)))


def test_matching_by_hand() -> None:
    said = vectors((1.0, 0.0), (0.6, 0.8), counts=(True, True))
    grounds = vectors((0.0, 1.0), (1.0, 0.0), (0.8, 0.6))
    # nearest to said: 1.0 and 0.6·0.8 + 0.8·0.6 = 0.96; nearest to grounds: 0.8, 1.0, 0.96
    made = match_tokens(said, grounds)
    assert made[:2] == pytest.approx((0.98, 0.92))
    assert made.f1 == pytest.approx(2 * 0.98 * 0.92 / 1.9)


def test_marks_are_matched_to_and_do_not_count() -> None:
    said = vectors((1.0, 0.0), (0.0, 1.0), counts=(True, False))
    grounds = vectors((1.0, 0.0), (0.0, 1.0), counts=(False, True))
    assert match_tokens(said, grounds) == pytest.approx((1.0, 1.0, 1.0))


def test_without_a_token_nothing_matches() -> None:
    assert match_tokens(vectors((1.0, 0.0), counts=(False,)), vectors((1.0, 0.0))) == Match(0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers without a head."""
    place = nli_folder(tmp_path_factory.mktemp("encoder") / "tiny-encoder")
    transformers.BertModel.from_pretrained(place).save_pretrained(place)
    return place


def by_hand(folder: Path, item: Grounded, layer: int) -> Match:
    """With transformers as its documentation calls it, and sums written out."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    both = []
    for text in (item.response, item.document.lower()):
        with torch.no_grad():
            hidden = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[layer][0]
        both.append([row / row.norm() for row in hidden])
    said, grounds = both
    near = [[float(a @ b) for b in grounds] for a in said]
    inner = range(1, len(said) - 1)
    precision = sum(max(near[i]) for i in inner) / len(inner)
    outer = range(1, len(grounds) - 1)
    recall = sum(max(row[j] for row in near) for j in outer) / len(outer)
    return Match(precision, recall, 2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("layer", [None, 1, 2])
def test_the_same_as_by_hand(folder: Path, layer: int | None) -> None:
    metric = BertScore(HfEncoder(source(str(folder)), layer=layer), Store(":memory:"))
    for item, found in zip(ITEMS, metric.matches(ITEMS), strict=True):
        assert found == pytest.approx(by_hand(folder, item, layer or 2), abs=1e-5)


def test_a_response_that_repeats_the_document_is_best(folder: Path) -> None:
    metric = BertScore(HfEncoder(source(str(folder))), Store(":memory:"))
    values = metric.score(ITEMS)
    assert values[2] == pytest.approx(1.0, abs=1e-5)
    assert max(one.f1 for one in metric.matches(ITEMS[:2])) < 0.999
    assert metric.score(ITEMS[::-1]) == values[::-1]


def test_a_long_document_is_read_in_windows(folder: Path) -> None:
    end = "the train is booked for three people on tuesday"
    long = Grounded("1", " ".join(["paris"] * 2 * NLI_TOKENS) + " " + end, end)
    metric = BertScore(HfEncoder(source(str(folder))), Store(":memory:"))
    windows = metric.encoder.vectors([long.document])[0]
    assert len(windows) > 2
    assert sum(len(one.tokens) for one in windows) > 2 * NLI_TOKENS
    (best,) = metric.matches([long])
    said = metric.encoder.vectors([end])[0][0]
    assert best.f1 == pytest.approx(max(match_tokens(said, one).f1 for one in windows))
    assert metric.remarks == []
    metric.score([Grounded("2", "the room", " ".join(WORDS * 3))])
    assert metric.remarks == ["longer than the encoder reads, and cut at the end: 1 response"]


def test_what_was_computed_is_kept(folder: Path, tmp_path: Path) -> None:
    class Dead:
        name, files = HfEncoder(source(str(folder))).name, source(str(folder))

        def vectors(self, _: object) -> list[list[Vectors]]:
            raise AssertionError("asked again")

    store = str(tmp_path / "scores.sqlite")
    values = BertScore(HfEncoder(source(str(folder))), Store(store)).score(ITEMS)
    assert BertScore(Dead(), Store(store)).score(ITEMS) == values  # type: ignore[arg-type]


def test_known_models_have_their_best_layer() -> None:
    known = HfEncoder(ModelFiles("hf:microsoft/deberta-xlarge-mnli@" + "0" * 40, Path))
    assert (known.layer, known.name[-3:]) == (40, "#40")
    assert HfEncoder(ModelFiles("other@1", Path)).name == "other@1#last"


def test_the_metric_by_name(folder: Path) -> None:
    grader = BERTSCORE.compute(Models(encoder=str(folder), cache=None))
    assert identity(BERTSCORE, grader.recipe).startswith("BERTSCORE|encoder:tiny-encoder@")
    assert grade(grader, [*ITEMS, Grounded("4", "the room", " ")])[3] == Unscored(NO_RESPONSE)
    assert load_encoder("embedded").name == "minilm-l6@b9a0018d#last"
