"""Generators end to end on tiny random models: training, kills, n-best lists, prefixes, ensembles, bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GenerationConfig

import troth
from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, Service, SlotSchema, Turn
from troth.models.batches import padded_tensors
from troth.readers import source
from troth.responses import corpus, nbest, sgsacc
from troth.responses.sgsacc import ActVerdict
from troth.systems.generators import prefix, train
from troth.systems.generators.card import GeneratorCard
from troth.systems.generators.decode import Prefixed
from troth.systems.generators.decode import nbest as search
from troth.systems.generators.difference import WeightDifference
from troth.systems.generators.encodings import encode_acts, generic_sentence, response_turns
from troth.systems.generators.model import GeneratorModel, fingerprint, open_generator
from troth.systems.generators.respond import respond
from troth.systems.generators.train import train_response
from troth.systems.runs import curve
from troth.systems.text import TextNetwork
from troth.systems.training import FitSettings

FIT = {"steps": 4, "batch": 4, "evaluate_every": 2, "rate": 1e-3, "save_every": 1}
DECODERS, BOTH = ["gpt2", "llama"], ["gpt2", "llama", "t5", "bart"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two dialogues with their schema."""
    document = source.find_beside(demo.path("gold"), source.SCHEMA)
    assert document is not None
    readers.write(list(readers.gold(demo.path("gold")))[:2], str(tmp_path / "data"), "sgd", schema=document.data)
    return tmp_path / "data"


@pytest.fixture
def arguments(data: Path) -> dict[str, Any]:
    return {"fit": FIT, "dev": data, "dev_limit": 3, "length": 96, "answer": 8, "nli": "fake", "cache": None,
            "templates": demo.path("templates")}  # fmt: skip


def losses(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_turns_that_no_rule_fits_have_no_part_in_sgsacc(
    arguments: dict[str, Any], tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = train.ResponseTrainSettings(**arguments, model=tiny("llama"))
    evaluation = train.ResponseEvaluation(settings, GeneratorCard(), {})
    network = TextNetwork(tiny("llama"), length=96, answer=4)
    wrong = ActVerdict("It is.", None, None, False, False, False, None)
    unknown = wrong._replace(reference=None)
    monkeypatch.setattr(sgsacc, "verdicts", lambda *_: [(wrong,), *[(unknown,)] * (len(evaluation.turns) - 1)])
    assert len(evaluation.turns) > 1
    assert evaluation(GeneratorModel(network, "ft"))["sgsacc"] == 0.0


@pytest.mark.parametrize("method", ["ft", "pt"])
@pytest.mark.parametrize("family", BOTH)
def test_end_to_end(
    family: str, method: Any, data: Path, arguments: dict[str, Any], tmp_path: Path,
    tiny: Callable[[str], Path], killed: Callable[[Callable[[], object]], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    arguments |= {"method": method, "model": tiny(family)}
    whole = train_response(data, tmp_path / "whole", **arguments)
    assert whole.steps == 4
    assert (whole.trained == whole.parameters) == (method == "ft")
    said = capsys.readouterr().err
    assert f"{whole.trained:,} of " in said
    assert "step 2 of 4: dev_loss" in said
    assert "sgsacc" in said

    killed(lambda: train_response(data, tmp_path / "cut", **arguments))
    train_response(data, tmp_path / "cut", **arguments)
    assert losses(tmp_path / "cut") == losses(tmp_path / "whole")
    assert len(losses(tmp_path / "cut")) == 4
    assert curve(tmp_path / "cut") == curve(tmp_path / "whole")
    assert {"dev_loss", "ser", "sgsacc"} <= curve(tmp_path / "cut")[0].keys()

    done = respond(tmp_path / "cut", data, tmp_path / "out.jsonl", beams=2, limit=1)
    lines = rows(tmp_path / "out.jsonl")
    assert done.turns == len(lines) > 0
    for line in lines:
        scores = [one["score"] for one in line["candidates"]]
        assert scores == sorted(scores, reverse=True)
        assert line["response"] == line["candidates"][0]["text"]
    result = troth.nlg(data, tmp_path / "out.jsonl", metrics="ser", resamples=10)
    assert result["ser"].n == len(lines)


@pytest.mark.parametrize("family", BOTH)
@pytest.mark.parametrize("beams", [1, 3])
def test_the_search_is_that_of_transformers(family: str, beams: int, tiny: Callable[[str], Path]) -> None:
    network = TextNetwork(tiny(family), length=96, answer=6)
    torch.manual_seed(1)
    for one in network.module.parameters():  # of weights so small every token is as likely as the next
        one.data += 0.3 * torch.randn_like(one)
    texts = ["The hotel name is Lantern Rooms.", "What is the city?", "It has laundry service. The rating is 4. Bye."]
    sources = [network.source(text, "") for text in texts]
    ids, mask = padded_tensors([list(one) for one in sources], network.padding, left=network.decoder)
    config = GenerationConfig(
        max_new_tokens=6, do_sample=False, num_beams=beams, num_return_sequences=beams, pad_token_id=network.padding,
        eos_token_id=network.end, return_dict_in_generate=True, output_scores=True,
        decoder_start_token_id=getattr(network.module.config, "decoder_start_token_id", None),
    )  # fmt: skip
    made = network.module.generate(input_ids=ids, attention_mask=mask, generation_config=config)
    out = made.sequences[:, ids.shape[1] :] if network.decoder else made.sequences
    expected = [str(text).strip() for text in network.tokenizer.batch_decode(out, skip_special_tokens=True)]
    found = search(network, sources, beams=beams)
    assert [one.text for mine in found for one in mine] == expected
    if beams > 1:
        assert [one.score for mine in found for one in mine] == pytest.approx(made.sequences_scores.tolist(), abs=1e-4)


@pytest.mark.parametrize("family", BOTH)
def test_rows_with_and_without_prefixes_in_one_batch(family: str, tiny: Callable[[str], Path]) -> None:
    plain, network = (TextNetwork(tiny(family), length=96, answer=6) for _ in range(2))
    layers = prefix.attention_layers(network.module)
    kinds = {"decoder"} if network.decoder else {"encoder", "decoder", "cross"}
    assert {layer.kind for layer in layers} == kinds
    torch.manual_seed(2)
    networks = prefix.PrefixNetworks(layers)
    pairs = [(5 * key, 5 * value) for key, value in networks()]
    assert [pair[0].shape[1] for pair in pairs] == [10] * len(layers)
    tuned = Prefixed(layers, pairs)
    sources = [network.source(text, "") for text in ("What is the city?", "The rating is 4. Bye.")]
    alone = [search(plain, sources, beams=2), search(network, sources, beams=2, prefix=tuned)]
    together = search(network, [*sources, *sources], beams=2, prefix=tuned, flags=[False, False, True, True])
    assert alone[0] != alone[1]
    for one, other in zip([*alone[0], *alone[1]], together, strict=True):
        assert [item.text for item in one] == [item.text for item in other]
        assert [item.score for item in one] == pytest.approx([item.score for item in other], abs=1e-4)


@pytest.mark.parametrize("family", ["llama", "t5"])
def test_only_prefixes_are_trained_and_saved(
    family: str, data: Path, arguments: dict[str, Any], tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    before = fingerprint(TextNetwork(tiny(family), length=96, answer=6).module)
    made = train_response(data, tmp_path / "pt", method="pt", model=tiny(family), **arguments)
    opened = open_generator(tmp_path / "pt")
    assert opened.weights == before == opened.card.base
    networks = {"llama": 1, "t5": 3}[family]
    narrow = networks * (10 * 512 + 512 * 384 + 384)  # the last layer is small here
    assert narrow < made.trained < 1.2 * narrow
    weights = sum(file.stat().st_size for file in (tmp_path / "pt/last").glob("*.safetensors"))
    assert weights < 20_000
    assert not list((tmp_path / "pt").rglob("*.bin"))
    assert not list((tmp_path / "pt").rglob("*.pt"))


@pytest.mark.parametrize("family", ["llama", "bart"])
def test_an_ensemble(
    family: str, data: Path, arguments: dict[str, Any], tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    train_response(data, tmp_path / "ft", model=tiny(family), **arguments)
    train_response(data, tmp_path / "base-pt", method="pt", model=tiny(family), **arguments)
    train_response(data, tmp_path / "ft-pt", method="pt", model=tmp_path / "ft", **arguments)
    more: dict[str, Any] = {"beams": 2, "nli": "fake", "cache": None}
    shared = respond([tmp_path / "ft", tmp_path / "ft-pt"], data, tmp_path / "shared.jsonl", **more)
    apart = respond([tmp_path / "ft", tmp_path / "base-pt"], data, tmp_path / "apart.jsonl", **more)
    assert (shared.models, apart.models) == (1, 1 if family == "llama" else 2)
    assert shared.systems == ("ft", "ft-pt")

    for name in ("ft", "ft-pt"):
        respond(tmp_path / name, data, tmp_path / f"{name}.jsonl", beams=2)
    nli = corpus.open_model("fake", None)
    files = [tmp_path / "ft.jsonl", tmp_path / "ft-pt.jsonl"]
    nbest.rerank_file(data, files, tmp_path / "merged.jsonl", nli)
    for one, other in zip(rows(tmp_path / "shared.jsonl"), rows(tmp_path / "merged.jsonl"), strict=True):
        assert one["response"] == other["response"]
        assert one["fidelity"] == max(reason["fidelity"] for reason in one["reasons"])
        systems = {system for reason in one["reasons"] for system in reason["system"].split("+")}
        assert systems == {reason["system"] for reason in other["reasons"]} == {"ft", "ft-pt"}


@pytest.mark.parametrize("family", DECODERS)
def test_a_model_as_the_difference_to_its_base(
    family: str, data: Path, arguments: dict[str, Any], tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    arguments["fit"] = {**FIT, "rate": 3e-2, "steps": 12}
    train_response(data, tmp_path / "ft", model=tiny(family), **arguments)
    train_response(data, tmp_path / "pt", method="pt", model=tiny(family), **arguments)
    read = corpus.read(data)
    turns = response_turns(read)
    whole = open_generator(tmp_path / "ft")
    pt = open_generator(tmp_path / "pt")
    before = pt.nbest(turns, read.schema, beams=2)
    ft = open_generator(tmp_path / "ft", beside=[pt])
    assert ft.network is pt.network
    assert ft.difference is not None
    assert pt.nbest(turns, read.schema, beams=2) == before  # rows of the base stay as they are
    assert before != (exact := whole.nbest(turns, read.schema, beams=2))
    near = ft.nbest(turns, read.schema, beams=2)
    assert [mine[0].score for mine in near] == pytest.approx([mine[0].score for mine in exact], abs=0.02)
    assert sum(a[0].text == b[0].text for a, b in zip(near, exact, strict=True)) >= 0.9 * len(turns)
    weights = sum(one.numel() for one in whole.network.module.parameters())
    assert ft.difference.numbers < 1.3 * weights  # bytes: a quarter of float32, and norms

    more: dict[str, Any] = {"beams": 2, "nli": "fake", "cache": None}
    made = respond([tmp_path / "ft", tmp_path / "pt"], data, tmp_path / "one.jsonl", **more)
    other = respond([tmp_path / "ft", tmp_path / "pt"], data, tmp_path / "two.jsonl", exact=True, **more)
    assert (made.models, other.models) == (1, 2)
    texts = [[{one["text"] for one in line["reasons"]} for line in rows(tmp_path / name)]
             for name in ("one.jsonl", "two.jsonl")]  # fmt: skip
    assert sum(a == b for a, b in zip(*texts, strict=True)) >= 0.8 * len(turns)


def test_inputs(data: Path) -> None:
    read = corpus.read(data)
    turn = next(turn for turn in response_turns(read) if any(due.act.act == "OFFER" for due in turn.system.acts))
    act, service = next(due for due in turn.system.acts if due.act.act == "OFFER")
    slot = next(one for one in service.slots if one.name == act.slot)
    naive = encode_acts(turn, read.schema, "naive", {})
    assert f"offer ( {act.slot} = {act.values[0]} )" in naive
    assert slot.description.rstrip(".") in encode_acts(turn, read.schema, "schema", {})
    bare, filled = (encode_acts(turn, read.schema, "template", known) for known in ({}, {service.name: {
        f"OFFER!!{act.slot}!!@": "How about @?"}}))  # fmt: skip
    assert f"How about {act.values[0]}?" in filled
    assert f"How about {act.values[0]}?" not in bare
    assert act.values[0] in bare


@pytest.mark.parametrize(("act", "expected"), [
    (Act("REQUEST", "pick_up"), "What is the pick up?"),
    (Act("REQUEST", "size", ("small", "large")), "What is the size: small or large?"),
    (Act("INFORM", "has_wifi", ("True",)), "Whether there is wifi? Yes."),
    (Act("OFFER", "name", ("Lantern",)), "name is Lantern."),
    (Act("GOODBYE"), "Have a good day."),
    (Act("THANK_YOU"), "Thank you."),
])  # fmt: skip
def test_generic_sentences(act: Act, expected: str) -> None:
    wifi = SlotSchema("has_wifi", "Whether there is wifi", is_categorical=True, possible_values=("True", "False"))
    service = Service("Stays_1", slots=(wifi, SlotSchema("name")))
    assert generic_sentence(act, service) == expected


def test_the_defaults_are_the_papers(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    train_response(data, tmp_path / "run", model=tiny("llama"), length=96, answer=8, fit={"steps": 3})
    how = json.loads((tmp_path / "run/last/generator.json").read_text())["training"]
    assert {name: how[name] for name in ("epochs", "batch", "rate")} == {"epochs": 3, "batch": 8, "rate": 1e-4}
    lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert [line["rate"] for line in lines if "rate" in line] == [1e-4] * 3
    assert FitSettings().schedule == "linear"


def test_a_service_without_templates_is_named(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/Other_1.tsv").write_text("GOODBYE\tBye.\n")
    train_response(
        data, tmp_path / "run", model=tiny("llama"), templates=tmp_path / "templates", fit={"steps": 1}, length=96
    )
    assert "no templates for Sights_1, Stays_1: generic sentences are used in their place" in capsys.readouterr().err


def test_bad_input_is_one_line(
    data: Path, arguments: dict[str, Any], tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    with pytest.raises(UserError, match="method cannot be 'lora'"):
        train_response(data, tmp_path / "x", method="lora", model=tiny("llama"))
    with pytest.raises(UserError, match=r"not a generator: no generator\.json"):
        respond(tmp_path, data, tmp_path / "x.jsonl")
    train_response(data, tmp_path / "pt", method="pt", model=tiny("llama"), **arguments)
    other = tmp_path / "other"
    network = TextNetwork(tiny("llama"), length=96, answer=6)
    next(iter(network.module.parameters())).data += 1
    network.save(other)
    with pytest.raises(UserError, match="its prefixes belong to other weights than these"):
        respond(tmp_path / "pt", data, tmp_path / "x.jsonl", base=other)
    with pytest.raises(UserError, match="its prefixes belong to other weights than these"):
        respond(tmp_path / "pt", data, tmp_path / "x.jsonl", base=tiny("gpt2"))
    (tmp_path / "pt/best-loss/prefix.safetensors").write_bytes(b"broken")
    with pytest.raises(UserError, match="the prefixes cannot be read"):
        respond(tmp_path / "pt", data, tmp_path / "x.jsonl")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "x.jsonl").exists()


def test_an_act_without_a_slot_is_one_line(tmp_path: Path) -> None:
    acts = (Act("INFORM", "", ("Lantern Rooms",)),)
    turns = (Turn("USER", "Hello"), Turn("SYSTEM", "Lantern Rooms", (Frame("Stays_1", acts=acts),)))
    read = corpus.read([Dialogue("d", turns, ("Stays_1",))], readers.schema(demo.path("gold")))
    with pytest.raises(UserError, match="dialogue d, turn 1: act INFORM has no slot"):
        response_turns(read)


def test_a_model_that_takes_no_prefixes_is_one_line() -> None:
    import transformers

    config = transformers.GPTNeoConfig(
        vocab_size=20, hidden_size=8, num_layers=1, num_heads=2, attention_types=[[["global"], 1]]
    )
    with pytest.raises(UserError, match="family 'gpt_neo' cannot take prefixes"):
        prefix.attention_layers(transformers.GPTNeoForCausalLM(config))


def test_a_model_that_is_none_is_refused_before_the_data_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not a generator: no generator\.json in it"):
        respond(tmp_path / "missing", tmp_path / "no data", tmp_path / "out.jsonl")


def test_weights_of_an_unknown_type_are_one_line(tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    network = TextNetwork(tiny("llama"), length=32, answer=4)
    header = json.dumps({"lm_head.weight": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"0")
    with pytest.raises(UserError, match="weights of the type F8_E4M3 are not read"):
        WeightDifference(network.module, tmp_path)


def test_an_encoder_is_refused_in_one_line(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="a model of the family 'bert' reads text and writes none"):
        train_response(data, tmp_path / "run", model=tiny("bert"))
    assert not (tmp_path / "run").exists()


def test_an_unknown_experiment_tracker_leaves_nothing_behind(
    data: Path, tmp_path: Path, tiny: Callable[[str], Path]
) -> None:
    with pytest.raises(UserError, match="nothing"):
        train_response(data, tmp_path / "run", model=tiny("llama"), log_to="nothing")
    assert not (tmp_path / "run").exists()


def test_bad_dev_data_leaves_no_folder_behind(data: Path, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="nodev"):
        train_response(data, tmp_path / "out", model=tiny("gpt2"), dev="nodev", nli="fake", cache=None)
    assert not (tmp_path / "out").exists()
