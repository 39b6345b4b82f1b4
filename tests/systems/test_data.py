"""Dialogues as tracker turns: states before and after, few-shot draws, other wordings of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.systems.data import TrackerCorpus


@pytest.fixture(scope="module")
def corpus() -> TrackerCorpus:
    return TrackerCorpus.read(demo.path("gold"))


def test_every_user_turn_is_there_with_its_states(corpus: TrackerCorpus) -> None:
    turns = list(corpus.turns())
    assert len(turns) == sum(1 for dialogue in corpus.dialogues for _ in dialogue.user_turns())
    for turn, following in pairwise(turns):
        if turn.dialogue == following.dialogue:
            assert {name: following.before[name] for name in turn.gold} == turn.gold
            assert following.history[: len(turn.history)] == turn.history
            assert following.system == following.history[-1][1]
    assert turns[0].system == ""
    assert turns[0].before == {}
    assert all(service.name in turn.gold for turn in turns for service in turn.services)


def test_acts_are_those_of_the_system_turn_before(corpus: TrackerCorpus) -> None:
    dialogue = corpus.dialogues[0]
    second = [turn for turn in corpus.turns() if turn.dialogue == dialogue.id][1]
    assert second.acts == {frame.service: frame.acts for frame in dialogue.turns[1].frames}


@pytest.mark.parametrize(("shots", "count"), [(0.5, 11), ("50%", 11), ("0.05", 1), (1.0, 22)])
def test_a_share_of_the_dialogues(corpus: TrackerCorpus, shots: str | float, count: int) -> None:
    assert len(corpus.sample(shots).dialogues) == count


def test_a_larger_draw_holds_the_smaller_one(corpus: TrackerCorpus) -> None:
    few, more = ({one.id for one in corpus.sample(share, seed=3).dialogues} for share in (0.2, 0.6))
    assert few < more
    assert few != {one.id for one in corpus.sample(0.2, seed=4).dialogues}


def test_so_many_dialogues_of_each_domain(corpus: TrackerCorpus) -> None:
    some = corpus.sample(2).dialogues
    assert all(len(dialogue.services) == 1 for dialogue in some)
    domains = [dialogue.services[0].partition("_")[0] for dialogue in some]
    assert domains
    assert max(domains.count(domain) for domain in domains) <= 2


def test_a_list_of_ids(corpus: TrackerCorpus, tmp_path: Path) -> None:
    ids = [dialogue.id for dialogue in corpus.dialogues[:3]]
    (tmp_path / "ids.txt").write_text("\n".join(ids))
    assert [one.id for one in corpus.sample(str(tmp_path / "ids.txt")).dialogues] == ids
    assert [one.id for one in corpus.sample(ids).dialogues] == ids
    with pytest.raises(UserError, match="none of these dialogues"):
        corpus.sample(["unheard"])
    with pytest.raises(UserError, match=r"shots cannot be '1\.5'"):
        corpus.sample(1.5)


def test_dialogues_come_under_every_wording(corpus: TrackerCorpus) -> None:
    few = corpus.first(2)
    both = few.augment("corrupt", seed=1)
    plain, turns = list(few.turns()), list(both.turns())
    assert len(turns) == 6 * len(plain)
    renamed = [turn for turn in turns if turn.services[0].name not in corpus.schema]
    assert len(renamed) == 5 * len(plain)
    for turn in renamed:
        slots = {slot.name for service in turn.services for slot in service.slots}
        assert {slot for state in turn.gold.values() for slot in state.slot_values} <= slots
    with pytest.raises(UserError, match="needs the schemas"):
        few.augment("oracle")
    with pytest.raises(UserError, match="cannot be 'shout'"):
        few.augment("shout")


def test_engines_of_back_translation(corpus: TrackerCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shouting:
        def __init__(self, name: str) -> None:
            self.name = name

        def there_and_back(self, texts: Sequence[str]) -> list[str]:
            return [f"{text} {self.name.partition(':')[2]}" for text in texts]

    monkeypatch.setattr("troth.perturb.schemas.generators.translator", Shouting)
    few = corpus.first(1).augment("backtranslate", engines=["marian:there,back", "apertium:eng-cat"])
    assert len(few.wordings) == 3
    said = {slot.description for one in few.wordings for service in one.schema.values() for slot in service.slots}
    assert any(text.endswith(" there,back") for text in said)
    assert any(text.endswith(" eng-cat") for text in said)
    with pytest.raises(UserError, match="engines is only for the augmentation 'backtranslate'"):
        corpus.augment("corrupt", engines=["apertium:eng-cat"])
    with pytest.raises(UserError, match="engines is only for"):
        corpus.augment(None, engines=["apertium:eng-cat"])


def test_a_schema_is_inferred_where_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"dialogue": "a", "turn": 0, "user": "a room in Leeds", "state": {"hotel": {"city": "Leeds"}}}\n')
    (turn,) = TrackerCorpus.read(file).turns()
    assert [slot.name for slot in turn.services[0].slots] == ["city"]
    assert turn.gold["hotel"].slot_values == {"city": ("Leeds",)}


@pytest.mark.shared
def test_oracle_takes_the_published_schemas(shared: Path) -> None:
    dev = shared / "data/sgd/dev"
    corpus = TrackerCorpus.read(str(dev / "dialogues_001.json")).first(1)
    oracle = corpus.augment("oracle", schemas=shared / "data/sgd/sgd_x")
    names = {service.name for turn in oracle.turns() for service in turn.services}
    assert len(names) == 6 * len(corpus.dialogues[0].services)


@pytest.mark.shared
def test_multiwoz_asks_for_all_services(shared: Path) -> None:
    corpus = TrackerCorpus.read(shared / "data/multiwoz/val.json.zip").first(1)
    assert all(len(turn.services) == 7 for turn in corpus.turns())


@pytest.mark.shared
def test_questions_about_multiwoz_do_not_depend_on_gold_values(shared: Path) -> None:
    corpus = TrackerCorpus.read(shared / "data/multiwoz/val.json.zip")
    few = TrackerCorpus.read(shared / "data/multiwoz/test.json.zip")
    assert corpus.schema == few.schema
    area = next(slot for slot in corpus.schema["hotel"].slots if slot.name == "area")
    assert area.possible_values == ("centre", "east", "north", "south", "west")


def test_dialogues_of_some_services(corpus: TrackerCorpus) -> None:
    chosen = corpus.only(["Stays_1", "Trains_1"])
    assert 0 < len(chosen.dialogues) < len(corpus.dialogues)
    assert all(set(dialogue.services) <= {"Stays_1", "Trains_1"} for dialogue in chosen.dialogues)
    assert {"Stays_1", "Trains_1"} == {service for dialogue in chosen.dialogues for service in dialogue.services}
    assert corpus.only([]) is corpus
    with pytest.raises(UserError, match="services has 'Stay_1', which no dialogue is about"):
        corpus.only(["Stay_1"])
