"""The span tracker: what it is taught is enough to rebuild the states, and the exported one says the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
import transformers
from training.tracker.export import export

from troth import demo
from troth.core.records import Intent, Service, SlotSchema, State, Turn
from troth.readers.multiwoz_sgd import spell_value
from troth.systems import span
from troth.systems.data import TrackerCorpus, TrackerTurn, turns_of
from troth.systems.span import SpanModel, SpanRecipe
from troth.systems.span.batches import Floats, Ints
from troth.systems.span.decode import INTENT, OFFERED, OFFERS, REQUESTED, SCORES, VALUE, Answers, update
from troth.systems.span.examples import IGNORED, Status, TurnFeatures, build_features, label_turn
from troth.systems.span.exported import pack_words, unpack_words
from troth.systems.span.layout import layout
from troth.systems.span.memory import Memory, ServiceMemory, flags, normalize_words, recall
from troth.systems.tracker import Tracker, TrackerCard, describe, open_tracker
from troth.systems.train import train_tracker


@pytest.fixture
def model(tiny: Callable[[str], Path]) -> SpanModel:
    opened = SpanRecipe().open(str(tiny("bert")), trained=False)
    assert isinstance(opened, SpanModel)
    return opened


def perfect(example: TurnFeatures) -> Answers:
    """What a network without fault would answer."""
    rows, queries = len(example.rows), max(len(row.flags) for row in example.rows)
    sources = max(1, *(len(row.sources) for row in example.rows))
    answers = Answers(
        np.zeros((rows, queries, SCORES), np.float32),
        np.zeros((4, rows, queries, len(example.words.ids)), np.float32),
        np.zeros((rows, queries, sources), np.float32),
    )
    for at, row in enumerate(example.rows):
        target = row.target
        assert target is not None
        if target.intent != IGNORED:
            answers.scores[at, int(target.intent), INTENT] = 1
        for number in range(len(row.layout.slots)):
            scores, query = answers.scores[at], 1 + number
            scores[query, max(int(target.status[number]), int(Status.NONE))] = 1
            scores[query, OFFERS] = 1 if target.offers[number] == 1 else -1
            scores[query, REQUESTED] = 1 if target.requested[number] == 1 else -1
            for column, chosen in ((VALUE, target.value[number]), (OFFERED, target.offered[number])):
                if chosen != IGNORED:
                    scores[chosen, column] = 1
            for first, places in ((0, target.user[number]), (2, target.system[number])):
                for end, place in enumerate(places):
                    if place != IGNORED:
                        answers.places[first + end, at, query, place] = 10
            answers.carried[at, query, : len(row.sources)] = target.carried[number]
    return answers


def test_what_is_taught_rebuilds_the_states(model: SpanModel) -> None:
    corpus = TrackerCorpus.read(demo.path("gold"))
    right = asked = 0
    for dialogue in corpus.dialogues:
        memory: Memory = {}
        for turn, services in model.examples(turns_of(dialogue, corpus.schema, complete=False)):
            layouts = {service.name: model.layout(service) for service in services}
            example = label_turn(turn, layouts, model.tokens)
            for name in layouts:
                memory.setdefault(name, ServiceMemory())
            states = update(memory, turn, example, perfect(example))
            for name, gold in turn.gold.items():
                asked += 1
                wanted = {
                    slot: {normalize_words(value) for value in values} for slot, values in gold.slot_values.items()
                }
                found = {slot: normalize_words(values[0]) for slot, values in states[name].slot_values.items()}
                right += found.keys() == wanted.keys() and all(found[slot] in wanted[slot] for slot in wanted)
                assert states[name].active_intent == gold.active_intent
                assert set(states[name].requested_slots or ()) == set(gold.requested_slots or ())
    assert asked > 100
    assert right / asked > 0.9  # the rest is annotation that stands nowhere in the dialogue


def test_a_service_without_an_intent_stays_empty(model: SpanModel) -> None:
    """In MultiWOZ, all services are asked about in every turn: the area of a hotel is no area of a museum."""
    turn = next(
        turn for turn in TrackerCorpus.read(demo.path("gold")).turns()
        if not turn.past and any(state.slot_values for state in turn.gold.values())
    )  # fmt: skip
    layouts = {service.name: model.layout(service) for service in turn.services}
    example = label_turn(turn, layouts, model.tokens)
    answers = perfect(example)
    active = update({name: ServiceMemory() for name in layouts}, turn, example, answers)
    assert any(state.slot_values for state in active.values())
    answers.scores[:, :, INTENT] = 0
    answers.scores[:, 0, INTENT] = 1
    resting = update({name: ServiceMemory() for name in layouts}, turn, example, answers)
    assert all(not state.slot_values and state.active_intent == "NONE" for state in resting.values())
    begun: Memory = {name: ServiceMemory(state={"any": "value"}) for name in layouts}
    assert any(len(state.slot_values) > 1 for state in update(begun, turn, example, answers).values())


def _service(*, optional: dict[str, str] | None = None, required: tuple[str, ...] = ()) -> Service:
    slots = (
        SlotSchema("from_city", "where the trip starts"),
        SlotSchema("to_city", "where it ends"),
        SlotSchema("seats", "how many travel", is_categorical=True, possible_values=("1", "2", "3")),
        SlotSchema("price", "what it costs"),
    )
    intent = Intent("BookTrip", "book a trip", required_slots=required, optional_slots=optional or {})
    return Service("Trips_1", "trips", slots, (intent,))


def _turn(service: Service, user: str) -> TrackerTurn:
    return TrackerTurn("1", 0, (service,), (), Turn("USER", user, ()), {})


def test_no_word_belongs_to_two_slots(model: SpanModel) -> None:
    service = _service(optional={"from_city": "", "to_city": ""})
    turn = _turn(service, "from Rome to Oslo")
    layouts = {service.name: model.layout(service)}
    memory: Memory = {service.name: ServiceMemory()}
    example = build_features(turn, layouts, memory, model.tokens)
    words = example.words
    rome, oslo = (
        words.find_place((turn.user.index(city), turn.user.index(city) + 4), user=True) for city in ("Rome", "Oslo")
    )
    assert rome is not None
    assert oslo is not None
    answers = Answers(
        np.zeros((1, len(example.rows[0].flags), SCORES), np.float32),
        np.zeros((4, 1, len(example.rows[0].flags), len(words.ids)), np.float32),
        np.zeros((1, len(example.rows[0].flags), 1), np.float32),
    )
    answers.scores[0, layouts[service.name].intents["BookTrip"], INTENT] = 1
    answers.scores[0, 1:3, Status.SPAN] = 1
    answers.scores[0, :, OFFERS] = answers.scores[0, :, REQUESTED] = -1
    for query, (first, second) in ((1, (10, 9)), (2, (20, 5))):  # both slots like the words of one city most
        for end in (0, 1):
            answers.places[end, 0, query, oslo[end]] = first
            answers.places[end, 0, query, rome[end]] = second
    state = update(memory, turn, example, answers)[service.name]
    assert state.slot_values == {"from_city": ("Rome",), "to_city": ("Oslo",)}
    assert memory[service.name].is_latest


def test_a_slot_that_no_intent_takes_is_never_filled(model: SpanModel) -> None:
    for optional, expected in (({"from_city": ""}, set()), ({"from_city": "", "price": ""}, {"price"})):
        service = _service(optional=optional)
        turn = _turn(service, "from Rome to Oslo")
        layouts = {service.name: model.layout(service)}
        memory: Memory = {service.name: ServiceMemory(intent="BookTrip")}
        example = build_features(turn, layouts, memory, model.tokens)
        queries = len(example.rows[0].flags)
        answers = Answers(
            np.zeros((1, queries, SCORES), np.float32),
            np.zeros((4, 1, queries, len(example.words.ids)), np.float32),
            np.zeros((1, queries, 1), np.float32),
        )
        answers.scores[0, layouts[service.name].intents["BookTrip"], INTENT] = 1
        answers.scores[0, 4, Status.DONTCARE] = 1  # the price
        assert set(update(memory, turn, example, answers)[service.name].slot_values) == expected


def test_what_the_network_knows_of_a_slot() -> None:
    service = _service(optional={"seats": "1"}, required=("to_city",))
    made = layout(service)
    known = flags(
        made, ServiceMemory(intent="BookTrip", is_latest=True), normalize_words(""), normalize_words("Two, please")
    )
    seats, city, price = (1 + made.slots.index(name) for name in ("seats", "to_city", "price"))
    fillable, required, of_intent, said, heard = range(9, 14)
    assert known[[seats, city, price], fillable].tolist() == [1, 1, 0]
    assert known[[seats, city, price], required].tolist() == [0, 1, 0]
    assert known[[seats, city, price], of_intent].tolist() == [1, 1, 0]
    assert known[seats, said] == 1  # "two" is the possible value "2"
    assert known[made.values[made.slots.index("seats")]["2"], 6] == 1
    assert known[seats, heard] == 0
    assert known[0, 14] == 1


def test_the_latest_service_in_training(model: SpanModel) -> None:
    """The tracker itself notes it turn by turn (`test_no_word_belongs_to_two_slots`)."""
    corpus = TrackerCorpus.read(demo.path("gold"))
    several = 0
    for turn, services in model.examples(corpus.turns()):
        before = recall(turn, {service.name: model.layout(service) for service in services})
        assert {name for name, known in before.items() if known.is_latest} == _changed_last(turn) & set(before)
        several += len(before) > 1
    assert several


def _changed_last(turn: TrackerTurn) -> set[str]:
    """The services whose values changed in the last turn in which any did, told the long way."""
    known: dict[str, object] = {}
    latest: set[str] = set()
    for said in turn.past:
        frames = [frame for frame in said.frames if said.speaker == "USER" and frame.state is not None]
        changed = {
            frame.service for frame in frames
            if frame.state is not None and frame.state.slot_values != known.get(frame.service, {})
        }  # fmt: skip
        known |= {frame.service: frame.state.slot_values for frame in frames if frame.state is not None}
        latest = changed or latest
    return latest


def test_parts_of_a_batch_have_the_loss_of_the_whole(model: SpanModel, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = TrackerCorpus.read(demo.path("live")).first(4)
    batch = model.collate(list(model.examples(corpus.turns()))[:12], Random(0))
    model.module.eval()  # without dropout
    losses = []
    for groups in (1, 3):
        monkeypatch.setattr(span, "GROUPS", groups)
        losses.append(float(model.loss(batch).detach()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_states_are_spelled_as_the_data_spells_them(model: SpanModel, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = TrackerCorpus.read(demo.path("gold")).first(1)
    said = [{"Stays_1": State("NONE", (), {"hotel_name": ("Pilot House",), "time": ("8:15",)})}] * 20
    monkeypatch.setattr(SpanModel, "track", lambda _self, dialogues: [said[: len(turns)] for turns in dialogues])
    tracker = Tracker("mine", TrackerCard("span"), model)
    values = {
        spell: tracker.states(corpus.dialogues, corpus.schema, complete=False, spell=spell)[0].turns[0].frames[0].state
        for spell in (None, spell_value)
    }
    assert values[None] == said[0]["Stays_1"]
    assert values[spell_value] == State("NONE", (), {"hotel_name": ("pilot house",), "time": ("08:15",)})


def test_a_turn_is_read_once_and_anew_when_something_was_learned(model: SpanModel) -> None:
    corpus = TrackerCorpus.read(demo.path("gold")).first(3)
    turns = [list(turns_of(dialogue, corpus.schema, complete=False)) for dialogue in corpus.dialogues]
    read, counts = model.read, list[int]()

    def counted(ids: Ints, segments: Ints) -> Floats:
        counts.append(len(ids))
        return read(ids, segments)

    model.read = counted  # type: ignore[method-assign]
    first = model.track(turns)
    assert sum(counts) == sum(map(len, turns))
    assert model.track(turns) == first
    assert sum(counts) == sum(map(len, turns))
    model.loss(model.collate(list(model.examples(turns[0]))[:2], Random(0)))
    assert model.track(turns) == first
    assert sum(counts) == 2 * sum(map(len, turns))


def test_learns_in_bfloat16(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    """Nearly as in float32, and not the same."""
    curves = []
    for bfloat16 in (False, True):
        fit = {"steps": 3, "batch": 4, "rate": 1e-3, "bfloat16": bfloat16}
        train_tracker(demo.path("live"), tmp_path / str(bfloat16), model=tiny("bert"), fit=fit)
        log = (tmp_path / str(bfloat16) / "log.jsonl").read_text().splitlines()
        curves.append([json.loads(line)["loss"] for line in log if "rate" in line])
    assert curves[0] != curves[1]
    assert curves[0] == pytest.approx(curves[1], rel=0.05)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # of the exporter
def test_an_exported_tracker_says_the_same(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder, encoder = tmp_path / "trained", tmp_path / "encoder"
    shutil.copytree(tiny("bert"), encoder)
    config = transformers.AutoConfig.from_pretrained(encoder, num_hidden_layers=3)
    transformers.AutoModel.from_config(config).save_pretrained(encoder)
    model = SpanRecipe().open(str(encoder), trained=False)
    assert isinstance(model, SpanModel)
    folder.mkdir()
    model.encoder.embeddings.word_embeddings.weight.copy_(_rounded(model))
    model.save(folder)
    describe(folder, TrackerCard("span"))
    export({"one": folder}, tmp_path / "box")
    corpus = TrackerCorpus.read(demo.path("gold")).first(6)
    here = Tracker("here", TrackerCard("span"), model).states(corpus.dialogues, corpus.schema, complete=False)
    there = open_tracker(tmp_path / "box" / "one").states(corpus.dialogues, corpus.schema, complete=False)
    frames = [(one, two) for a, b in zip(here, there, strict=True) for one, two in zip(a.turns, b.turns, strict=True)]
    assert (
        sum(one == two for one, two in frames) / len(frames) > 0.9
    )  # int8 moves a near tie, also of whether a service has an intent


def _rounded(model: SpanModel) -> torch.Tensor:
    return torch.from_numpy(unpack_words(*pack_words(model.encoder.embeddings.word_embeddings.weight.numpy())))


def test_word_vectors_in_four_bits() -> None:
    words = np.random.default_rng(0).normal(size=(50, 64)).astype(np.float32)
    table, scales = pack_words(words)
    assert table.nbytes + scales.nbytes < words.nbytes / 6
    restored = unpack_words(table, scales)
    assert np.abs(restored - words).max() <= np.abs(words).max() / 7 / 2 * 1.01
    again, _ = pack_words(restored)
    assert np.array_equal(again, table)
