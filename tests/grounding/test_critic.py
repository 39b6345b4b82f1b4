"""FaithCritic and its kin, with a classifier made on the spot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.build import NLI_TOKENS, WORDS, nli_folder
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.grounding.critic import FAITHCRITIC, FAITHCRITIC_SOFT, Critic, CriticVerdict, HfClassifier, faithful_label
from troth.grounding.metrics import Models
from troth.models import TextPair
from troth.models.hub import source
from troth.storage.cache import Store

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CRITIC = {0: "LABEL_0", 1: "LABEL_1"}
ITEMS = [Grounded(str(n), " ".join(WORDS[n : n + 7]), " ".join(WORDS[2 * n % 15 : 2 * n % 15 + 4])) for n in range(12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nli_folder(tmp_path_factory.mktemp("critic") / "tiny-critic", labels=CRITIC)


def by_hand(folder: Path, item: Grounded) -> tuple[int, float]:
    """As the authors' code has it: one minus the most probable label's number."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(**tokenizer(item.document, item.response, return_tensors="pt", truncation=True)).logits
    return 1 - int(logits.argmax(dim=1)), float(logits.softmax(-1)[0, 0])


def test_the_same_as_by_hand(folder: Path) -> None:
    models = Models(critic=str(folder), cache=None)
    hard, soft = (metric.compute(models) for metric in (FAITHCRITIC, FAITHCRITIC_SOFT))
    expected = [by_hand(folder, item) for item in ITEMS]
    assert hard.score(ITEMS) == [label for label, _ in expected]
    assert soft.score(ITEMS) == pytest.approx([chance for _, chance in expected], abs=1e-5)
    assert len({label for label, _ in expected}) == 2
    assert identity(soft.metric, soft.recipe).startswith("FAITHCRITIC_SOFT|critic:tiny-critic@")
    assert identity(soft.metric, soft.recipe).endswith("|of:probability|window:best")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({0: "LABEL_0", 1: "LABEL_1"}, 0),
        ({0: "0", 1: "1"}, 0),
        ({0: "Hallucination", 1: "Faithful"}, 1),
        ({0: "contradiction", 1: "neutral", 2: "ENTAILMENT"}, 2),
        ({0: "not_supported", 1: "supported"}, 1),
    ],
)
def test_which_label_means_faithful(labels: dict[int, str], expected: int) -> None:
    assert faithful_label(labels, "m") == expected


@pytest.mark.parametrize("labels", [{0: "bad", 1: "good"}, {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}])
def test_a_model_that_does_not_say(labels: dict[int, str]) -> None:
    with pytest.raises(UserError, match=f"which label of 'm' means faithful\\? It has {', '.join(labels.values())}"):
        faithful_label(labels, "m")


def test_the_best_window_of_a_long_document(folder: Path) -> None:
    critic = HfClassifier(source(str(folder)))
    document = " ".join(WORDS * 4)
    windows, cut = critic._windows((document, "the train is cheap"))
    assert not cut
    assert len(windows) > 2
    assert all(len(window["input_ids"]) <= NLI_TOKENS for window in windows)
    (found,) = critic.verdicts([(document, "the train is cheap")])
    assert found.probability == pytest.approx(max(chance for chance, _ in critic._read(windows)))


def test_a_long_response_is_cut_and_counted(folder: Path) -> None:
    metric = Critic(HfClassifier(source(str(folder))), Store(":memory:"))
    metric.score([Grounded("long", "the room is nice", " ".join(WORDS * 4)), *ITEMS])
    assert metric.cut == {"long"}
    assert metric.remarks == ["longer than the model reads, and cut at the end: 1 response"]


def test_what_was_computed_is_kept(tmp_path: Path) -> None:
    class Counting:
        name = "counting@1"
        asked = 0

        def verdicts(self, pairs: list[TextPair]) -> list[CriticVerdict]:
            self.asked += len(pairs)
            return [CriticVerdict(0.25, False, False) for _ in pairs]

    for expected in (12, 0):
        classifier = Counting()
        assert Critic(classifier, Store(str(tmp_path / "s"))).score(ITEMS) == [0.0] * 12  # type: ignore[arg-type]
        assert classifier.asked == expected
    assert Critic(classifier, Store(str(tmp_path / "s")), soft=True).score(ITEMS[:1]) == [0.25]  # type: ignore[arg-type]
