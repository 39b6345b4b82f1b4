"""The embedded entailment model: a graph made here for the arithmetic, and the one in the package for what it ships."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

import pytest

from tests.models.build import WORDS, onnx_folder, weights
from troth.core.errors import UserError
from troth.models import Entailment, TextPair
from troth.models.embedded import FOLDER, EmbeddedNli, card, entailments, truncate_pair
from troth.models.protocols import WordedEntailment
from troth.models.verified import fault

LIMIT = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return onnx_folder(tmp_path_factory.mktemp("onnx"), limit=LIMIT)


def drawn(count: int, seed: int = 0, longest: int = 20) -> list[TextPair]:
    rng = random.Random(seed)
    return [
        (" ".join(rng.choices(WORDS, k=rng.randint(0, longest))), " ".join(rng.choices(WORDS, k=rng.randint(1, 8))))
        for _ in range(count)
    ]


def by_hand(premise: str, hypothesis: str) -> Entailment:
    """The graph's sum: [CLS] premise [SEP] of the first side, hypothesis [SEP] of the second."""
    tables, sides = weights()
    number = {word: index + 4 for index, word in enumerate(WORDS)}
    logits = sum(tables[i] * sides[0] for i in (1, *(number[w] for w in premise.split()), 2))
    logits = logits + sum(tables[i] * sides[1] for i in (*(number[w] for w in hypothesis.split()), 2))
    powers = [math.exp(float(value)) for value in logits]
    return Entailment(*(power / sum(powers) for power in powers))


def test_probabilities(folder: Path) -> None:
    model = EmbeddedNli(folder)
    pairs = drawn(100)
    for found, pair in zip(model.probabilities(pairs), pairs, strict=True):
        assert found == pytest.approx(by_hand(*pair), abs=1e-5)
        assert sum(found) == pytest.approx(1)
    digest = json.loads((folder / "model.json").read_text())["sha256"]["model.onnx"]
    assert model.name == f"tiny@3-{digest[:8]}", "other weights are another model"
    assert model.cut == 0


def test_labels_in_another_order(tmp_path: Path) -> None:
    turned = EmbeddedNli(onnx_folder(tmp_path, labels=("contradiction", "entailment", "neutral")))
    for (premise, hypothesis), found in zip(drawn(5), turned.probabilities(drawn(5)), strict=True):
        first, second, third = by_hand(premise, hypothesis)
        assert found == pytest.approx((second, third, first), abs=1e-5)


def test_the_batch_does_not_matter(folder: Path) -> None:
    model = EmbeddedNli(folder)
    pairs = drawn(150, seed=3)
    together = model.probabilities(pairs)
    alone = [model.probabilities([pair])[0] for pair in pairs]
    backwards = model.probabilities(pairs[::-1])[::-1]
    for one, two, three in zip(together, alone, backwards, strict=True):
        assert one == pytest.approx(two, abs=1e-4)
        assert one == pytest.approx(three, abs=1e-4)


@pytest.mark.parametrize(
    ("premise", "hypothesis", "kept_premise", "kept_hypothesis"),
    [
        (0, 0, 0, 0),
        (47, 30, 47, 30),  # exactly what fits
        (48, 30, 47, 30),
        (500, 3, 74, 3),
        (500, 70, 20, 57),  # the hypothesis would leave too little
        (10, 500, 10, 67),
        (0, 500, 0, 77),
        (500, 500, 20, 57),
    ],
)
def test_fitted(premise: int, hypothesis: int, kept_premise: int, kept_hypothesis: int) -> None:
    first, second = list(range(premise)), list(range(1000, 1000 + hypothesis))
    one, two = truncate_pair(first, second, LIMIT)
    assert one == first[premise - kept_premise :], "its end is kept"
    assert two == second[:kept_hypothesis], "its beginning is kept"
    assert len(one) + len(two) + 3 <= LIMIT
    assert (one, two) == (first, second) or len(one) + len(two) + 3 == LIMIT


def test_long_text_is_cut_and_counted(folder: Path) -> None:
    model = EmbeddedNli(folder)
    rng = random.Random(1)
    long = " ".join(rng.choices(WORDS, k=200))
    kept = " ".join(long.split()[-(LIMIT - 3 - 2) :])
    pairs = [(long, "a table"), (long, "a table"), (kept, "a table"), (long, "nice")]
    found = model.probabilities(pairs)
    assert found[0] == found[1] == pytest.approx(by_hand(kept, "a table"), abs=1e-5)
    assert found[2] == pytest.approx(found[0], abs=1e-6)
    assert model.cut == 2, "two distinct pairs"
    assert model.shortened == {(long, "a table"), (long, "nice")}


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\x00", "é😀" * 50, "a" * 10_000, "[SEP] [CLS]"])
def test_any_text_has_an_answer(folder: Path, text: str) -> None:
    for pair in ((text, "a table"), ("a table", text), (text, text)):
        (verdict,) = EmbeddedNli(folder).probabilities([pair])
        assert sum(verdict) == pytest.approx(1)


def test_lengths(folder: Path) -> None:
    rows = EmbeddedNli(folder).encode([("a room", "nice"), ("", ""), ("a " * 500, "nice")])
    assert [len(row["input_ids"]) for row in rows.values()] == [6, 3, LIMIT]
    batches = EmbeddedNli(folder).plan(list(rows))
    planned = [(batch.indexes, batch.units) for batch in batches]
    assert planned == [([2], LIMIT), ([0], 6), ([1], 3)], "the longest first, and no short one beside a long one"


def test_nothing_asked(folder: Path) -> None:
    assert EmbeddedNli(folder).probabilities([]) == []


# -- what can be wrong -------------------------------------------------------------------------------------------------


def test_another_file_is_refused(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path)
    (folder / "model.onnx").write_bytes(b"other" + (folder / "model.onnx").read_bytes())
    with pytest.raises(UserError, match=r"model.onnx: is not the file that was released"):
        EmbeddedNli(folder).probabilities([("a", "b")])


def test_numbers_that_are_not_finite_are_no_probabilities() -> None:
    with pytest.raises(UserError, match="not finite"):
        entailments([[0.0, 1.0, 2.0], [0.0, math.nan, 0.0]], [0, 1, 2])


@pytest.mark.parametrize("missing", ["model.json", "tokenizer.json"])
def test_a_missing_file(tmp_path: Path, missing: str) -> None:
    (onnx_folder(tmp_path) / missing).unlink()
    with pytest.raises(UserError, match=missing):
        EmbeddedNli(tmp_path).probabilities([("a", "b")])


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_what_to_install(folder: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf'{package} is not installed \(pip install "troth\[nli\]"\)'):
        EmbeddedNli(folder).probabilities([("a", "b")])


def test_the_doubt_of_words(tmp_path: Path) -> None:
    """Each word has the doubt of its most doubtful token; the answers are those of a model without them."""
    model = EmbeddedNli(onnx_folder(tmp_path, doubts=True, limit=LIMIT))
    pairs = [*drawn(20), ("the room", "two  (cheap) nice-room\nLondon"), ("the", "")]
    answers = model.probabilities(pairs)
    tables, _ = weights()
    number = {word: index + 4 for index, word in enumerate(WORDS)}

    def doubt(token: str) -> int:
        return round(255 / (1 + math.exp(-float(tables[number.get(token, 3)][0]))))

    for (premise, hypothesis), found in zip(pairs[:20], answers, strict=False):
        assert isinstance(found, WordedEntailment)
        assert found == pytest.approx(by_hand(premise, hypothesis), abs=1e-5)
        assert list(found.doubts) == [doubt(word) for word in hypothesis.split()]
    assert isinstance(answers[20], WordedEntailment)
    assert list(answers[20].doubts) == [doubt("two"), max(doubt("("), doubt("cheap")),
                                        max(doubt("nice"), doubt("room"), doubt("-")), doubt("London")]  # fmt: skip
    assert isinstance(answers[21], WordedEntailment)
    assert answers[21].doubts == b""


def test_words_that_were_cut_off_are_not_in_doubt(tmp_path: Path) -> None:
    model = EmbeddedNli(onnx_folder(tmp_path, doubts=True, limit=12))
    (found,) = model.probabilities([("the room", "two " * 30)])
    assert isinstance(found, WordedEntailment)
    assert len(found.doubts) == 30
    assert found.doubts[0] > 0
    assert found.doubts[-1] == 0


# -- the one in the package --------------------------------------------------------------------------------------------


def test_the_package_holds_what_was_released() -> None:
    found = card()
    assert fault(FOLDER, found.sha256) is None
    assert found.name == "troth-nli"
    assert set(found.labels) == set(Entailment._fields)
    assert set(found.sha256) == {"model.onnx", "tokenizer.json"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 45_000_000
    assert json.loads((FOLDER / "model.json").read_bytes())["max_tokens"] == found.max_tokens


def test_the_package_s_marks_the_wrong_word() -> None:
    premise = "The museum was opened in 1987 by Anna Lind, and has 40 rooms."
    for hypothesis, wrong in (
        ("The museum was opened in 1954 by Anna Lind.", {"1954"}),
        ("The museum was opened in 1987 by Peter Brandt.", {"Peter", "Brandt."}),
        ("The museum has 75 rooms.", {"75"}),
    ):
        (found,) = EmbeddedNli().probabilities([(premise, hypothesis)])
        assert isinstance(found, WordedEntailment)
        doubts = dict(zip(hypothesis.split(), found.doubts, strict=True))
        assert max(doubts, key=doubts.__getitem__) in wrong, doubts


def test_the_batch_does_not_matter_to_the_package_s_either() -> None:
    model = EmbeddedNli()
    pairs = [
        (premise, hypothesis)
        for premise in ("I booked a table for two.", "No.", "It is a nice place to stay, in the west of town. " * 9)
        for hypothesis in ("The table is for two people.", "x", "Has free wifi: yes.")
    ]
    for together, pair in zip(model.probabilities(pairs), pairs, strict=True):
        assert together == pytest.approx(model.probabilities([pair])[0], abs=1e-4)
