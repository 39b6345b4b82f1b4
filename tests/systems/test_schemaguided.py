"""SGP-DST and SGD's baseline: what their networks read, and that they can learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from troth import demo
from troth.systems.data import TrackerCorpus
from troth.systems.schemaguided import TEXT, BaselineModel, SgdBaseline, SgpDst, SgpModel
from troth.systems.span import SpanExample
from troth.systems.span.examples import Status


@pytest.fixture
def sgp(tiny: Callable[[str], Path]) -> SgpModel:
    model = SgpDst().open(str(tiny("bert")), trained=False)
    assert isinstance(model, SgpModel)
    return model


@pytest.fixture
def baseline(tiny: Callable[[str], Path]) -> BaselineModel:
    model = SgdBaseline().open(str(tiny("bert")), trained=False)
    assert isinstance(model, BaselineModel)
    return model


@pytest.fixture
def corpus() -> TrackerCorpus:
    return TrackerCorpus.read(demo.path("gold")).first(4)


def outputs(model: Any, examples: Sequence[SpanExample]) -> Any:
    arrays, _ = model.collate(examples, Random(0))
    ids, segments, *rows = map(torch.from_numpy, arrays)
    model.module.eval()
    with torch.inference_mode():
        words = model.module.read_words(model._lower(ids, segments), segments)
        return model.module.ask(words, segments, tuple(rows))


@pytest.mark.parametrize("name", ["sgp", "baseline"])
def test_answers_do_not_depend_on_the_other_turns_of_a_batch(
    name: str, request: pytest.FixtureRequest, corpus: TrackerCorpus
) -> None:
    model = request.getfixturevalue(name)
    examples = list(model.examples(corpus.turns()))[:5]
    together, row = outputs(model, examples), 0
    for example in examples:
        alone = outputs(model, [example])
        rows, queries, _ = alone.scores.shape
        tokens, sources = alone.places.shape[-1], alone.carried.shape[-1]
        own = slice(row, row + rows)
        kinds = torch.from_numpy(model.collate([example], Random(0))[0].kinds) >= 0
        assert torch.allclose(together.scores[own, :queries][kinds], alone.scores[kinds], atol=1e-4)
        places = together.places[:, own, :queries, :tokens]
        assert torch.allclose(places[:, kinds], alone.places[:, kinds], atol=1e-4)
        assert torch.allclose(together.carried[own, :queries, :sources][kinds], alone.carried[kinds], atol=1e-4)
        row += rows


def test_a_turn_and_a_text_are_read_without_a_gap(sgp: SgpModel) -> None:
    said = torch.tensor([[2, 5, 3, 6, 3], [2, 3, 7, 3, 0]])
    segments = torch.tensor([[1, 2, 1, 3, 1], [1, 1, 3, 1, 0]])
    texts = torch.tensor([[8, 3, 0], [9, 9, 3]])
    ids, mask, second = sgp.module._pack(said, segments, (torch.tensor([0, 1]), texts))
    assert ids.tolist() == [[2, 5, 3, 6, 3, 8, 3], [2, 3, 7, 3, 9, 9, 3]]
    assert mask.all()
    assert second.sum(1).tolist() == [2, 3]


def test_texts_of_the_schema_are_tokens_and_end(sgp: SgpModel) -> None:
    (short, long) = sgp.sentences(["a room", "room " * 100])
    ends = sgp.tokens.whole(["a"])[0][-1]
    assert short.shape == (TEXT,)
    assert short[int((short > 0).sum()) - 1] == ends == long[-1]
    assert (long > 0).all()


def test_both_learn(sgp: SgpModel, baseline: BaselineModel, corpus: TrackerCorpus) -> None:
    for model in (sgp, baseline):
        examples = list(model.examples(corpus.turns()))[:3]
        batch = model.collate(examples, Random(0))
        optimizer = torch.optim.Adam([one for one in model.module.parameters() if one.requires_grad], 3e-3)
        model.module.train()
        losses = []
        for _ in range(25):
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.6 * losses[0]


def test_the_baseline_takes_nothing_from_earlier_turns(baseline: BaselineModel) -> None:
    examples = list(baseline.examples(TrackerCorpus.read(demo.path("gold")).turns()))
    _, wanted = super(BaselineModel, baseline).collate(examples, Random(0))
    assert (wanted["status"] == Status.CARRY).any()
    _, wanted = baseline.collate(examples, Random(0))
    assert not (wanted["status"] == Status.CARRY).any()
    assert (wanted["offers"][wanted["status"] == Status.OFFER] == 1).all()
    assert (wanted["carried"] == -1).all()
    found = outputs(baseline, examples[:4])
    assert (found.scores[..., Status.CARRY] == -1e4).all()
    assert np.isfinite(found.scores.numpy()).all()
