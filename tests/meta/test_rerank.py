"""Whether the reranker chooses gold among spoiled copies of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Dialogue
from troth.core.result import Result
from troth.meta.trials import rerank as rerank_trial
from troth.meta.trials.rerank import CHOSEN, CorruptedList, RerankSettings, corrupted_lists, rerank
from troth.meta.trials.trial import Trial
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.responses import tamper
from troth.responses.rerank import rerank_all
from troth.storage import runs as result

GOLD = demo.path("gold")
DIALOGUES, SCHEMA = list(readers.gold(GOLD)), readers.schema(GOLD)
YES, NO = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05)


def words(premise: str, hypothesis: str) -> Entailment:
    """The last word of the hypothesis stands in the premise."""
    return YES if hypothesis.rstrip(".?").rpartition(" ")[2].lower() in premise.lower() else NO


def run(nli: FakeNli, **options: Any) -> Result:
    return rerank(DIALOGUES, schema=SCHEMA, nli=nli, **options)


def drawn(dialogues: Sequence[Dialogue] = DIALOGUES, **options: Any) -> list[CorruptedList]:
    return corrupted_lists(Trial("", dialogues, RerankSettings(schema=SCHEMA, nli=FakeNli(), **options)))


def omniscient() -> FakeNli:
    """Knows each gold utterance, which entails everything, from its copies, which entail nothing."""
    copies = {text for one in drawn(turns=None) for _, text in one.copies}
    golds = {turn.text for dialogue in DIALOGUES for turn in dialogue.turns} - copies  # "Booked." is both
    return FakeNli(lambda premise, _: YES if premise in golds else NO)


def test_a_perfect_model_chooses_gold_always_and_a_blind_one_never() -> None:
    right = run(omniscient(), turns=None, resamples=50)
    model = [score for score in right.scores if score.system != "rule"]
    assert {score.value for score in model} == {1.0}
    assert {one.rule for one in right.details} <= {"rule"}
    blind = run(FakeNli(lambda *_: YES), turns=40, resamples=50)
    values = {(score.system, str(score.group)): score.value for score in blind.scores}
    assert values["entailed", "all"] == values["retry", "all"] == 0.0  # a tie is lost
    assert blind.scores[0].n == blind.counts["entailed"]["lists"] == 40
    # Copies are made so that the gate finds them: a model that knows nothing passes with it.
    assert values["gated", "kind:value"] == values["rule", "kind:value"] == 1.0
    assert values["gated", "kind:missing"] == values["rule", "kind:missing"] == 1.0
    assert values["rule", "kind:boolean"] == 0.0
    assert {one.rule for one in blind.details} >= {"entailed", "retry"}


def test_scores_by_kind_and_rule() -> None:
    made = run(FakeNli(words), turns=60, seed=1, resamples=50)
    assert [(score.system, score.group) for score in made.scores] == [
        (rule, group)
        for rule in ("entailed", "retry", "gated", "rule")
        for group in ("all", "kind:value", "kind:missing", "kind:boolean")
    ]
    whole = made.scores[0]
    assert whole.metric == CHOSEN.name
    recipes = {score.system: score.signature for score in made.scores if score.group == "all"}
    ending = "|lists:60|seed:1|n:60|"
    assert recipes["entailed"].startswith(
        f"FAITHFUL_CHOSEN|rule:any|refs:b+4|augment:never|ties:likelihood+entailment|nli:fake-nli@1{ending}"
    )
    assert "|rule:any|refs:b+4|augment:retry|" in recipes["retry"]
    assert "|rule:any+present|refs:b+4|augment:never|" in recipes["gated"]
    assert recipes["rule"].startswith(f"FAITHFUL_CHOSEN|rule:present{ending}")
    assert all(score.n <= whole.n == 60 for score in made.scores)
    assert len({(one.dialogue, one.turn) for one in made.details if one.rule == "entailed"}) == 60 - round(
        60 * (whole.value or 0)
    )
    assert all(one.kinds for one in made.details)


def test_the_gated_row_with_the_retry() -> None:
    made = run(FakeNli(words), turns=5, augment="retry", resamples=10)
    assert [score.signature.split("|")[3] for score in made.scores if score.group == "all"][:3] == [
        "augment:never", "augment:retry", "augment:retry",
    ]  # fmt: skip


def test_the_rerankers_own_choice_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reranker that always takes the first one never takes gold, whatever the points say."""

    def first(turns: Any, nli: Any, **options: Any) -> Any:
        return [msgspec.structs.replace(one, choice=0) for one in rerank_all(turns, nli, **options)]

    monkeypatch.setattr(rerank_trial, "rerank_all", first)
    made = run(omniscient(), turns=10, resamples=10)
    assert {score.value for score in made.scores if score.n} == {0.0}


def test_a_pair_is_asked_once_whatever_the_rules() -> None:
    nli = FakeNli(words)
    run(nli, turns=10, resamples=10)
    assert len(nli.asked) == len(set(nli.asked))


def test_lists_are_drawn_by_id_and_seed() -> None:
    forth = drawn(turns=30, seed=4)
    assert forth == drawn(DIALOGUES[::-1], turns=30, seed=4)  # the same copies, too
    assert forth != drawn(turns=30, seed=5)
    for one in forth:
        *copies, last = one.nbest().candidates
        assert last == one.turn.gold
        assert 1 <= len(copies) <= 3
        assert last not in copies
        wrong = dict(one.copies).get("value")
        assert wrong is None or not all(tamper.has_values(*each, wrong) for each in one.turn.acts)


def test_nothing_to_spoil() -> None:
    with pytest.raises(UserError, match="no system turn has acts with values"):
        rerank([], schema=SCHEMA, nli=FakeNli())


def test_a_schema_without_descriptions_is_told() -> None:
    bare = {
        name: msgspec.structs.replace(
            one,
            slots=tuple(msgspec.structs.replace(slot, description="") for slot in one.slots),
            intents=tuple(msgspec.structs.replace(intent, description="") for intent in one.intents),
        )
        for name, one in SCHEMA.items()
    }
    made = rerank(GOLD, schema=bare, nli=FakeNli(), turns=5, resamples=10)
    assert "|desc:none|" in made.scores[0].signature
    assert [*map(str, made.notes)] == ["the schema has no descriptions: names stand in their place"]
    assert not run(FakeNli(), turns=5, resamples=10).notes


def test_a_saved_trial(tmp_path: Path) -> None:
    made = rerank(Path(GOLD), nli="fake", turns=5, resamples=10, out=tmp_path / "run")
    kept = result.open(tmp_path / "run")
    assert (kept.task, kept.scores, kept.details) == ("meta rerank", made.scores, made.details)
    expected = {"gold": GOLD, "turns": 5, "nli": "fake", "augment": "never"}
    assert {name: kept.arguments[name] for name in expected} == expected
    rows = kept.rows()
    assert rows["metric"].unique().to_list() == ["faithful_chosen"]
    assert len(rows) == 4 * 5


def test_wrong_use() -> None:
    with pytest.raises(UserError, match="augment cannot be 'rety'"):
        run(FakeNli(), augment="rety")
    with pytest.raises(UserError, match="there is no option 'truns'"):
        run(FakeNli(), truns=5)
