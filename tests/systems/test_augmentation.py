"""What training adds to dialogues: names and shares, twins that test sets do not have, wordings that are drawn."""

from __future__ import annotations

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.perturb.lexicon import select_half
from troth.perturb.users import apply, inventory
from troth.systems.augmentation import Augmentation, TwinMaker, parse_augmentation
from troth.systems.data import TrackerCorpus


@pytest.fixture(scope="module")
def corpus() -> TrackerCorpus:
    return TrackerCorpus.read(demo.path("gold"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Augmentation("", 1.0, {})),
        ("", Augmentation("", 1.0, {})),
        ("oracle", Augmentation("oracle", 1.0, {})),
        ("schema=0.5, names, disfluency=0.25", Augmentation("schema", 0.5, {"names": 1.0, "disfluency": 0.25})),
        (["paraphrase=1"], Augmentation("", 1.0, {"paraphrase": 1.0})),
    ],
)
def test_names_and_shares(text: str | list[str] | None, expected: Augmentation) -> None:
    parsed = parse_augmentation(text)
    assert (parsed.wordings, parsed.share, dict(parsed.twins)) == (
        expected.wordings, expected.share, dict(expected.twins),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nmes", r"did you mean 'names'"),
        ("names,names=0.5", "names 'names' twice"),
        ("schema,oracle", "names two ways to reword the schema: schema, oracle"),
        ("names=0", "has '0' as the share of 'names'"),
        ("names=2", "has '2' as the share"),
        ("names=few", "has 'few' as the share"),
        ("names=nan", "has 'nan' as the share"),
    ],
)
def test_wrong_augmentations(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_augmentation(text)


@pytest.mark.parametrize(
    ("name", "factor"),
    [("names", 10), ("disfluency", 4), ("paraphrase", 1.5)],  # "That's it." has one paraphrase: "That is it."
)
def test_twins_are_others_than_those_of_test_sets(corpus: TrackerCorpus, name: str, factor: float) -> None:
    family = {"names": "entities"}.get(name, name)
    known = inventory(corpus.dialogues, corpus.schema)
    maker = TwinMaker(corpus.dialogues, corpus.schema, {name: 1.0}, seed=0)
    equal = different = 0
    for dialogue in corpus.dialogues:
        test = apply(family, dialogue, known, seed=0)
        for twin in maker.make(dialogue):
            for own, theirs, original in zip(twin.turns, test.dialogue.turns, dialogue.turns, strict=True):
                if own.text != original.text:
                    equal += own.text == theirs.text
                    different += own.text != theirs.text
    assert different > factor * equal


def test_twins_are_added_by_their_share_and_always_the_same(corpus: TrackerCorpus) -> None:
    def make(share: float, seed: int = 0) -> list[str]:
        maker = TwinMaker(corpus.dialogues, corpus.schema, {"names": share}, seed)
        return [twin.id for dialogue in corpus.dialogues for twin in maker.make(dialogue)]

    every, some = make(1.0), make(0.5)
    assert 0 < len(some) < len(every)
    assert set(some) < set(every)
    assert make(0.5) == some
    assert make(0.5, seed=1) != some


def test_turns_of_twins_fit_their_wording(corpus: TrackerCorpus) -> None:
    augmented = corpus.augment("schema=0.5,names=0.5,disfluency=0.5", seed=2)
    plain, turns = list(corpus.turns()), list(augmented.turns())
    assert turns[0] == plain[0]
    assert 3 * len(plain) < len(turns) < 7 * len(plain)  # five wordings in half of the dialogues, and the twins
    reworded = [turn for turn in turns if turn.services and turn.services[0].name not in corpus.schema]
    originals = {turn.user for turn in plain}
    assert any(turn.user not in originals for turn in reworded)  # stresses together
    for turn in turns:
        slots = {slot.name for service in turn.services for slot in service.slots}
        assert {slot for state in turn.gold.values() for slot in state.slot_values} <= slots
    assert list(augmented.turns()) == turns


def test_halves_of_phrases_do_not_overlap() -> None:
    phrases = [f"{word} {other} you" for word in ("could", "would", "can") for other in ("you", "we", "she", "it")]
    first, second = select_half(phrases, "first"), select_half(phrases, "second")
    assert set(first) | set(second) == set(phrases)
    assert not set(first) & set(second)
    assert min(len(first), len(second)) > 1
    assert select_half(phrases, "all") == phrases
    alone = phrases[:1]
    assert select_half(alone, "first") == select_half(alone, "second") == alone
