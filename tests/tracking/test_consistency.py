"""CheckDST's metrics: golden values, tables, and lemma 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracking.build import state
from troth.core.parts import Parts
from troth.core.records import Dialogue, Frame, Turn
from troth.robustness.checkdst import changed_words, checkdst
from troth.tracking.consistency import (
    COREFERENCE,
    CheckdstRecipe,
    UserTurns,
    conditional_parts,
    coreference_parts,
    hallucination_parts,
    over_all_pairs,
)

SETS = ("NED", "PI", "SDI")


def test_the_authors_class(shared: Path) -> None:
    expected = json.loads((shared / "golden/checkdst_examples.json").read_text())
    file = str(shared / "data/checkdst/ckpt_step928_multiwoz_checkdst-{}_example.checkdst_prediction.jsonl")
    result = checkdst(file.format("orig"), {name: file.format(name) for name in SETS}, nohf="code", resamples=10)
    found = {score.metric: score for score in result.scores}
    for name in ("orig", *SETS):
        suffix = "" if name == "orig" else f":{name}"
        assert round(found[f"jga{suffix}"].value or 0, 4) == expected["JGA"][name]
        assert found[f"jga{suffix}"].n == expected["rows"][name]
        nohf = found[f"nohf{suffix}"]
        assert round(nohf.value or 0, 4) == expected["NoHF_code"][name]
        assert nohf.n == expected["named_entities_predicted"][name]
        assert round(nohf.n * (1 - (nohf.value or 0))) == expected["hallucinated"][name]
    for name in SETS:
        assert round(found[f"cjga:{name}"].value or 0, 4) == expected["cJGA_conditional"][name]
        assert round(found[f"cjga_all:{name}"].value or 0, 4) == expected["cJGA_all"][name]
        assert result.counts[name]["unpaired_original"] == 70
        assert result.counts[name]["unpaired"] == 0
    for flip in result.details:
        assert flip.perturbation in SETS
        assert flip.changed


def parts(right: list[int]) -> Parts:
    return Parts.from_fractions([(one, 1) for one in right], [("d", turn, "") for turn in range(len(right))])


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), min_size=1, max_size=40))
def test_lemma_1(pairs: list[tuple[int, int]]) -> None:
    right, twin = (parts(list(side)) for side in zip(*pairs, strict=True))
    both = conditional_parts(right, twin)
    before, after = right.num.mean(), twin.num.mean()
    if both.den.sum():
        assert both.num.sum() / both.den.sum() <= 1 - abs(before - after) / max(before, after) + 1e-12
        assert both.num.sum() / both.den.sum() <= 1 - abs(before - after) + 1e-12
    else:
        assert before == after == 0


@pytest.mark.parametrize(
    ("right", "twin", "both", "either"),
    [([1], [1], 1, 1), ([1], [0], 0, 1), ([0], [1], 0, 1), ([0], [0], 0, 0), ([1, 1, 0, 0], [1, 0, 1, 0], 1, 3)],
)
def test_conditional(right: list[int], twin: list[int], both: int, either: int) -> None:
    one, other = parts(right), parts(twin)
    found = conditional_parts(one, other)
    assert [found.num.sum(), found.den.sum()] == [both, either]
    found = over_all_pairs(one, other)
    assert [found.num.sum(), found.den.sum()] == [both, len(right)]


def turns(
    text: str, values: dict[str, str], *, service: str = "hotel", context: str | None = None
) -> tuple[Dialogue, Dialogue]:
    gold = Dialogue("d", (Turn("USER", text, context=context),))
    return gold, Dialogue("d", (Turn("USER", text, (Frame(service, state(values)),)),))


@pytest.mark.parametrize(
    ("text", "values", "default", "code"),
    [
        ("at the alder", {"name": "alder"}, (1, 1), (1, 1)),
        ("at the Alder  Court", {"name": "alder court"}, (1, 1), (0, 1)),
        ("at the alder", {"name": "birch"}, (0, 1), (0, 1)),
        ("at the alder", {"name": "dontcare"}, (0, 0), (0, 1)),
        ("in the centre", {"name": "centre"}, (1, 1), (0, 1)),  # the script looks for what its map made of it
        ("in the alder", {"area": "north"}, (0, 0), (0, 0)),  # no named entity
        ("at the alder", {}, (0, 0), (0, 0)),
    ],
)
def test_hallucination(text: str, values: dict[str, str], default: tuple[int, int], code: tuple[int, int]) -> None:
    for rule, expected in (("default", default), ("code", code)):
        gathered = UserTurns(CheckdstRecipe(nohf=rule))
        gathered.add(*turns(text, values))
        found = hallucination_parts(gathered)
        assert (found.num.tolist(), found.den.tolist()) == ([expected[0]], [expected[1]]), rule


def test_what_was_said_before_counts_and_a_files_own_context_wins() -> None:
    gold = Dialogue("d", (Turn("USER", "a hotel"), Turn("SYSTEM", "the birch"), Turn("USER", "book it")))
    pred = Dialogue("d", tuple(Turn("USER", frames=(Frame("hotel", state({"name": "birch"})),)) for _ in range(2)))
    gathered = UserTurns(CheckdstRecipe())
    gathered.add(gold, pred)
    assert hallucination_parts(gathered).num.tolist() == [0, 1]
    gathered = UserTurns(CheckdstRecipe())
    gathered.add(*turns("book it", {"name": "elm"}, context="<user> the elm <system> yes <user> book it"))
    assert hallucination_parts(gathered).num.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a train on the same day as the restaurant booking", True),
        ("for the same group of people", True),
        ("I need to leave from there by noon", True),
        ("a taxi between the two places", True),
        ("somewhere in that area", True),
        ("I need a taxi to the hotel at 5", False),
        ("is it cheap?", False),
        ("that is all, thanks", False),
        ("a room for 2 nights", False),
    ],
)
def test_coreference_patterns(text: str, found: bool) -> None:
    assert bool(COREFERENCE.search(text)) == found


def test_a_reference_holds_for_the_turns_after_it() -> None:
    gold = Dialogue("d", tuple(Turn("USER", text) for text in ("a hotel", "the same day as that one", "thanks")))
    by_pattern, by_annotation = UserTurns(CheckdstRecipe(coref="patterns")), UserTurns(CheckdstRecipe())
    for gathered in (by_pattern, by_annotation):
        gathered.add(gold, None)
    assert [turn.coref for turn in by_pattern.turns] == [False, True, True]
    assert [turn.coref for turn in by_annotation.turns] == [None, None, None]
    assert coreference_parts(parts([1, 1, 0]), by_pattern).units.turn.tolist() == [1, 2]
    assert len(coreference_parts(parts([1, 1, 0]), by_annotation).units) == 0


def test_merged_turns_equal_the_whole() -> None:
    pairs = [turns("at the alder", {"name": "alder"}), turns("at the alder", {"name": "birch"})]
    whole, first, second = (UserTurns(CheckdstRecipe()) for _ in range(3))
    for gathered, chosen in ((whole, pairs), (first, pairs[:1]), (second, pairs[1:])):
        for pair in chosen:
            gathered.add(*pair)
    first.merge(second)
    assert (first.turns, first.dialogues) == (whole.turns, whole.dialogues)


def test_changed_words() -> None:
    assert changed_words("to london please", "to uh london please") == ["+uh"]
    assert changed_words("to london", "to mlodno") == ["-london", "+mlodno"]
    assert changed_words("same", "same") == []
