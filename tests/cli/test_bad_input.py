"""Bad input is one line on standard error that says what, where and what next; nothing else is printed or written."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GOLD, HASTY, SCHEMA, STURDY, Corpus, Result, Troth
from troth.core.errors import UserError
from troth.grounding.score import ground
from troth.readers import source

Spoil = Callable[[Corpus], None]


def told(result: Result, *parts: str) -> None:
    assert result.code == 2, result
    assert result.out == ""
    assert re.fullmatch(r"troth: .+ \(.+\)\n", result.err), result.err
    assert result.err[:-1].isprintable()
    for part in parts:
        assert part in result.err


def tree(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def bad(troth: Troth, corpus: Corpus, *parts: str) -> None:
    """Scoring the corpus fails as it should, with --json, with --out and with neither."""
    before = tree(corpus.folder)
    pair = (str(corpus.gold), str(corpus.pred))
    for options in ((), ("--json",), ("--out", str(corpus.folder / "run"))):
        told(troth("dst", *pair, *options), *parts)
        assert tree(corpus.folder) == before


# -- files that are not what they should be ----------------------------------------------------------------------------

GARBAGE = [
    (b"", "the file is empty (is it the right one?)"),
    (b" \n\t", "the file is empty (is it the right one?)"),
    (b"{}", "not a known format (name the format: sgd, "),
    (b"[]", "not a known format (name the format: sgd, "),
    (b"6", "not a known format (name the format: sgd, "),
    (b"hello", "broken JSON: "),
    (b"\xff\xfe", "broken JSON: "),
    (b"\xef\xbb\xbf[]", "not a known format"),  # a byte order mark is passed over
    (b"[" * 100 + b"]" * 100, "not a known format (name the format: sgd, "),
    (b"[" * 100_000 + b"]" * 100_000, "nested too deeply to be dialogue data (is it the right file?)"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply to be dialogue data (is it the right file?)"),
]


@pytest.mark.parametrize(("data", "says"), GARBAGE, ids=[f"{data[:8]!r}-{len(data)}" for data, _ in GARBAGE])
@pytest.mark.parametrize("side", ["gold", "pred"])
def test_garbage(troth: Troth, corpus: Corpus, side: str, data: bytes, says: str) -> None:
    corpus.write(side, data)
    bad(troth, corpus, f"troth: {corpus.files[side]}: {says}")


@pytest.mark.parametrize("side", ["gold", "pred"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_truncated(troth: Troth, corpus: Corpus, side: str, share: float) -> None:
    data = corpus.files[side].read_bytes()
    corpus.write(side, data[: int(len(data) * share)])
    bad(troth, corpus, f"troth: {corpus.files[side]}: broken JSON: Input data was truncated (is the file whole?)")


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_not_utf8(troth: Troth, corpus: Corpus, side: str) -> None:
    corpus.write(side, corpus.files[side].read_bytes().replace(b"Kiln Cottage", b"Kiln C\xf4ttage"))
    bad(troth, corpus, f"troth: {corpus.files[side]}: not valid UTF-8 (save it as UTF-8)")


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_deep_inside(troth: Troth, corpus: Corpus, side: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    corpus.write(side, corpus.files[side].read_bytes().replace(b'["Kiln Cottage"]', deep))
    bad(troth, corpus, f"troth: {corpus.files[side]}: ")


def test_empty_folder(troth: Troth, corpus: Corpus) -> None:
    corpus.files["pred"].unlink()
    endings = ".json, .jsonl, .gz, .zip or .parquet"
    bad(troth, corpus, f"troth: {corpus.pred}: no {endings} file in this folder (is it the right one?)")
    corpus.files["gold"].rename(corpus.files["pred"])  # a schema alone is no gold
    bad(troth, corpus, f"troth: {corpus.gold}: no .json, ")


def test_missing_file(troth: Troth, corpus: Corpus) -> None:
    corpus.pred.rename(corpus.folder / "predictions")
    told(
        troth("dst", str(corpus.gold), str(corpus.folder / "prediction")), "no such file", "did you mean 'predictions'?"
    )
    told(troth("dst", str(corpus.folder / "golt"), HASTY), "golt: no such file", "(did you mean 'gold'?)")
    told(troth("dst", "/nowhere/at/all", HASTY), "/nowhere/at/all: no such file or folder (check the path)")
    told(troth("dst", GOLD, f"mine={corpus.folder}/prediction"), "did you mean 'predictions'?")
    told(troth("check", str(corpus.folder / "golt")), "(did you mean 'gold'?)")
    told(troth("explain", str(corpus.folder / "golt"), HASTY), "(did you mean 'gold'?)")
    told(troth("convert", str(corpus.folder / "golt"), "x", "--to", "sgd"), "(did you mean 'gold'?)")
    told(troth("compare", str(corpus.folder / "prediction"), HASTY), "(did you mean 'predictions'?)")
    told(troth("table", str(corpus.folder / "prediction")), "not a run")
    told(troth("dst", GOLD, HASTY, "--schema", f"{GOLD}/scheme.json"), "(did you mean 'schema.json'?)")
    told(troth("dst", GOLD, HASTY, "--train-schema", f"{GOLD}/scheme.json"), "(did you mean 'schema.json'?)")


@pytest.mark.parametrize("path", ["", "x" * 5000, "a/" * 3000, "nul\0l"])
def test_odd_paths(troth: Troth, path: str) -> None:
    told(troth("dst", path, HASTY))
    told(troth("dst", GOLD, path))
    told(troth("dst", GOLD, HASTY, "--schema", path or "/"))
    told(troth("check", path))
    told(troth("compare", path, path + "x"))
    told(troth("table", path))


def test_name_is_not_utf8(troth: Troth, tmp_path: Path) -> None:
    """Such a name would be in the results, which are UTF-8."""
    name = os.fsencode(tmp_path) + b"/pr\xe9d.json"
    with open(name, "wb") as file:
        file.write((Path(HASTY) / "dialogues_001.json").read_bytes())
    told(troth("dst", GOLD, os.fsdecode(name), "--json"), "the name of the file is not UTF-8 (rename it)")
    told(troth("dst", GOLD, str(tmp_path), "--json"), "the name of the file is not UTF-8 (rename it)")


def test_a_folder_called_json(troth: Troth, corpus: Corpus) -> None:
    (corpus.gold / "a.json").mkdir()
    bad(troth, corpus, "a.json: cannot be read: Is a directory (check the path)")


# -- archives and standard input ---------------------------------------------------------------------------------------


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return out.getvalue()


ARCHIVES = [
    ("x.json.gz", b"[]"),
    ("x.json.gz", b""),
    ("x.json.gz", gzip.compress(b"[" * 1000, mtime=0)[:-5]),
    ("x.json.gz", gzip.compress(b"[" * 1000, mtime=0)[:12] + b"\xff" * 20),
    ("x.zip", b"[]"),
    ("x.zip", b""),
    ("x.zip", zipped()),
    ("x.zip", zipped(readme__txt=b"hello")),
    ("x.zip", zipped(schema__json=b"[]")),
    ("x.zip", zipped(a__json=b"[" * 1000)[:-30]),
    ("x.zip", zipped(a__json=b"x" * 1000).replace(b"K\xac", b"\x00\x00", 1)),
    ("x.zip", zipped(a__json__gz=b"no gzip")),
    ("x.zip", zipped(a__json=b"{")),
]


@pytest.mark.parametrize(("name", "data"), ARCHIVES, ids=range(len(ARCHIVES)))
def test_archives(troth: Troth, corpus: Corpus, name: str, data: bytes) -> None:
    for side in (corpus.gold, corpus.pred):
        place = side / name
        place.write_bytes(data)
        pair = (str(place), HASTY) if side == corpus.gold else (GOLD, str(place))
        told(troth("dst", *pair, "--schema", SCHEMA), str(place))
        told(troth("dst", *pair), str(place))
        told(troth("dst", str(corpus.gold), str(corpus.pred)), str(place))
        place.unlink()


def test_every_spoiled_zip_is_told(tmp_path: Path) -> None:
    whole = zipped(d__json=(Path(HASTY) / "dialogues_001.json").read_bytes()[:2000])
    place = tmp_path / "x.zip"
    spoiled = 0
    for at in (*range(60), *range(len(whole) - 80, len(whole))):
        for value in (0, 1, 9, 14, 255):
            place.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                list(source.documents(str(place)))  # some bytes nobody looks at
            except UserError as error:
                spoiled += str(place) in str(error)
    assert spoiled > 100


@pytest.mark.parametrize("data", [b"", b"[", b"{}", b"\xff", b"[" * 100_000])
def test_stdin(troth: Troth, data: bytes) -> None:
    told(troth("dst", "-", HASTY, "--schema", SCHEMA, stdin=data), "<stdin>: ")
    told(troth("dst", GOLD, "-", stdin=data), "<stdin>: ")
    told(troth("check", "-", stdin=data), "<stdin>: ")


def test_stdin_for_both_sides(troth: Troth) -> None:
    data = (Path(GOLD) / "dialogues_001.json").read_bytes()
    told(troth("dst", "-", "-", "--profile", "trade", stdin=data), "not both (name a file for one of them)")


def test_stdin_cannot_be_read(troth: Troth) -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: object) -> int:
            raise OSError(5, "Input/output error")

    told(troth("dst", "-", HASTY, stdin=io.BufferedReader(Broken())), "<stdin>: cannot be read: ", "Input/output error")


def test_stdin_is_closed() -> None:
    command = f"{sys.executable} -m troth dst - <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    told(Result(done.returncode, done.stdout, done.stderr), "<stdin>: is closed (send a file to it: ")


# -- JSON that is not dialogues ----------------------------------------------------------------------------------------


def turn(items: Any, dialogue: int = 1, index: int = 2) -> Any:
    return items[dialogue]["turns"][index]


WRONG: list[tuple[str, Callable[[Any], object], str]] = [
    (
        "object for list",
        lambda d: turn(d).update(frames={}),
        "dialogue demo_07, turn 2: expected a list, got an object",
    ),
    (
        "list for object",
        lambda d: turn(d)["frames"][0].update(state=[]),
        "turn 2: expected an object or null, got a list",
    ),
    ("list for dialogue", lambda d: d.insert(1, []), "expected an object, got a list at [1] ("),
    ("text for turns", lambda d: d[1].update(turns="hi"), "dialogue demo_07: expected a list, got text at [1].turns ("),
    ("null for id", lambda d: d[1].update(dialogue_id=None), "expected text, got null at [1].dialogue_id ("),
    ("no turns", lambda d: d[1].pop("turns"), "dialogue demo_07: object missing required field `turns` at [1] ("),
    (
        "no speaker",
        lambda d: turn(d).pop("speaker"),
        "dialogue demo_07, turn 2: object missing required field `speaker`",
    ),
    (
        "speaker",
        lambda d: turn(d).update(speaker="BOT"),
        "dialogue demo_07, turn 2: invalid enum value 'BOT' at [1].turns[2]",
    ),
    *(
        (
            f"value {value!r}",
            lambda d, value=value: turn(d)["frames"][0]["state"]["slot_values"].update(seats=value),
            f"dialogue demo_07, turn 2: expected a list, got {kind} at [1].turns[2].frames[0].state.slot_values",
        )
        for value, kind in ((4, "a number"), (None, "null"), ({"a": ["4"]}, "an object"), ("4", "text"))
    ),
    *(
        (
            f"value {value!r}",
            lambda d, value=value: turn(d)["frames"][0]["state"]["slot_values"].update(seats=value),
            f"dialogue demo_07, turn 2: expected text, got {kind} at [1].turns[2].frames[0].state.slot_values",
        )
        for value, kind in (([4], "a number"), ([None], "null"), ([{"a": "4"}], "an object"), ([["4"]], "a list"))
    ),
]


@pytest.mark.parametrize(("change", "says"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
@pytest.mark.parametrize("side", ["gold", "pred"])
def test_wrong_layout(troth: Troth, corpus: Corpus, side: str, change: Callable[[Any], object], says: str) -> None:
    items = corpus.read(side)
    items.sort(key=lambda dialogue: dialogue["dialogue_id"] != "figure_1")
    change(items)
    corpus.write(side, items)
    bad(troth, corpus, f"troth: {corpus.files[side]}: ", says, "(see docs/formats.md for the layout)")


def test_dialogues_by_key(troth: Troth, corpus: Corpus) -> None:
    """The public script's other layout: an object from id to dialogue."""
    items = {d["dialogue_id"]: d for d in corpus.read("pred")}
    items["demo_07"]["turns"][2]["frames"] = 6
    corpus.write("pred", items)
    bad(troth, corpus, f"{corpus.files['pred']}: dialogue demo_07, turn 2: expected a list, got a number")
    items["demo_07"] = items["demo_12"]
    corpus.write("pred", items)
    bad(troth, corpus, f"{corpus.files['pred']}: dialogue demo_12: is under the key 'demo_07' (key and id must agree)")


# -- gold and prediction that do not fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_unknown_slot(troth: Troth, corpus: Corpus, side: str) -> None:
    items = corpus.read(side)
    turn(items)["frames"][0]["state"]["slot_values"]["from_sation"] = ["York"]
    corpus.write(side, items)
    place = f"{corpus.files[side]}: dialogue demo_07, turn 1: slot 'from_sation' is not in the schema of Trains_1"
    bad(troth, corpus, place, "(did you mean 'from_station'?")
    told(troth("explain", str(corpus.gold), str(corpus.pred)), place) if side == "gold" else None


def test_unknown_slot_ignored(fine: Troth, corpus: Corpus) -> None:
    items = corpus.read("pred")
    turn(items)["frames"][0]["state"]["slot_values"]["from_sation"] = ["York"]
    corpus.write("pred", items)
    result = fine("dst", str(corpus.gold), str(corpus.pred), "--unknown", "ignore")
    assert "pred: 3 dialogues, 1 ignored slot; JGA|" in result.err


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_unknown_service(troth: Troth, corpus: Corpus, side: str) -> None:
    items = corpus.read(side)
    turn(items)["frames"][0]["service"] = "Train_1"
    corpus.write(side, items)
    what = f"{corpus.files[side]}: dialogue demo_07, turn 1: service 'Train_1' is not in the schema"
    bad(troth, corpus, what, "(did you mean 'Trains_1'?)")


def test_unknown_dialogue(troth: Troth, corpus: Corpus) -> None:
    items = corpus.read("pred")
    items[0]["dialogue_id"] = "demo_077"
    corpus.write("pred", items)
    what = f"{corpus.files['pred']}: dialogue demo_077: predicted, but gold has no such dialogue"
    bad(troth, corpus, what, "(did you mean 'demo_07'?)")


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_duplicate_dialogue(troth: Troth, corpus: Corpus, side: str) -> None:
    items = corpus.read(side)
    corpus.write(side, [*items, items[1]])
    bad(
        troth, corpus, f"{corpus.files[side]}: dialogue demo_07: duplicate dialogue id (ids must be unique; remove one)"
    )
    corpus.write(side, items)
    second = corpus.files[side].with_name("dialogues_002.json")
    second.write_text(json.dumps(items[1:2]))
    bad(troth, corpus, f"{second}: dialogue demo_07: duplicate dialogue id (ids must be unique; remove one)")


@pytest.mark.parametrize("index", [0, 2, 3, 4, 12])
def test_missing_turn(troth: Troth, corpus: Corpus, index: int) -> None:
    items = corpus.read("pred")
    del items[1]["turns"][index]
    corpus.write("pred", items)
    what = f"{corpus.files['pred']}: dialogue demo_07, turn {index}: "
    bad(troth, corpus, what, "speaks where gold has", "(is a turn missing or doubled?)")


def test_missing_exchange(troth: Troth, corpus: Corpus) -> None:
    items = corpus.read("pred")
    del items[1]["turns"][2:4]
    corpus.write("pred", items)
    what = f"{corpus.files['pred']}: dialogue demo_07, turn 2: the text is not gold's: "
    bad(troth, corpus, what, "(is a turn missing or doubled?)")


def test_turn_too_many(troth: Troth, corpus: Corpus) -> None:
    items = corpus.read("pred")
    items[1]["turns"].extend(items[1]["turns"][-2:])
    corpus.write("pred", items)
    what = f"{corpus.files['pred']}: dialogue demo_07, turn 7: gold has no such turn"
    bad(troth, corpus, what, "(do gold and prediction belong together?)")


def test_no_predictions(troth: Troth) -> None:
    told(troth("dst", GOLD), "holds dialogues and no predictions (name the prediction's file after it)")


def test_missing_predictions_are_no_error(fine: Troth, corpus: Corpus) -> None:
    """What lacks scores zero and is counted."""
    pair = (str(corpus.gold), str(corpus.pred), "--metrics", "jga", "--profile", "trade")
    whole = fine("dst", *pair, "--json").json()[0]
    items = corpus.read("pred")
    del items[2]
    del items[1]["turns"][-4:]
    corpus.write("pred", items)
    result = fine("dst", *pair, "--json")
    lacking = result.json()[0]
    assert lacking["n"] == whole["n"]
    assert lacking["value"] < whole["value"]
    assert "pred: 3 dialogues, 1 missing dialogue, 2 missing turns; " in fine("dst", *pair).err
    skipped = fine("dst", *pair, "--missing", "skip", "--json").json()[0]
    assert skipped["n"] < whole["n"]


# -- schemas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "expected a list, got an object at the top"),
        ([1], "expected an object, got a number at [0]"),
        ([{}], "object missing required field `service_name` at [0]"),
        ([{"service_name": "a", "slots": [{"name": 6}]}], "expected text, got a number at [0].slots[0].name"),
        ([{"service_name": "a"}, {"service_name": "a"}], "duplicate service 'a' (keep one of the two)"),
        (b"", "the file is empty"),
        (b"[{", "broken JSON: Input data was truncated"),
        (b"\xff", "broken JSON"),
        (b"[" * 100_000, "expected an object, got a list at [0]"),
        (b'[{"":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_schema(troth: Troth, corpus: Corpus, value: object, says: str) -> None:
    corpus.schema.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    bad(troth, corpus, f"troth: {corpus.schema}: {says}")
    for option in ("--schema", "--train-schema"):
        told(troth("dst", GOLD, HASTY, option, str(corpus.schema)), f"troth: {corpus.schema}: {says}")
    told(troth("check", str(corpus.gold)), f"troth: {corpus.schema}: {says}")
    told(troth("explain", str(corpus.gold), str(corpus.pred)), f"troth: {corpus.schema}: {says}")


def test_schema_is_not_one(troth: Troth) -> None:
    told(troth("dst", GOLD, HASTY, "--schema", HASTY), "dialogues_001.json: ", "missing required field `service_name`")


def test_no_schema(troth: Troth, corpus: Corpus) -> None:
    corpus.schema.unlink()
    told(
        troth("dst", str(corpus.gold), str(corpus.pred), "--profile", "sgd"),
        "troth: profile sgd needs the services' schema (give the schema)",
    )


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--profile", "trad"], "no profile is called 'trad' (did you mean 'trade'?)"),
        (["--profile", "xyz"], "no profile is called 'xyz' (known: checkdst, mwzeval, nemo, sgd, "),
        (["--profiles", "sgd,trad"], "no profile is called 'trad' (did you mean 'trade'?)"),
        (["--profile", "sgd", "--profiles", "all"], "--profile and --profiles exclude each other ("),
        (["--profile", "trippy"], "dialogue figure_1, turn 0: has values and not correctness (the profile trade "),
        (["--match", "fuzzy"], "match cannot be 'fuzzy' (did you mean 'fuzzy-indel'?)"),
        (["--unit", "frames"], "unit cannot be 'frames' (did you mean 'frame'?)"),
        (["--missing", "none"], "missing cannot be 'none' (one of: zero, skip)"),
        (["--fga", "papr"], "fga cannot be 'papr' (did you mean 'paper'?)"),
        (["--by", "services"], "cannot group by 'services' (did you mean 'service'?)"),
        (["--by", "xyz"], "cannot group by 'xyz' (one of: seen, service, domain, slot, turn)"),
        (["--by", "seen"], "seen and unseen need the training services (give the training schema)"),
        (["--metrics", "jgaa"], "no metric is called 'jgaa' (did you mean 'jga'?)"),
        (["--metrics", ","], "no metric is named (for example jga)"),
        (["--metrics", "fga@-1"], "no metric is called 'fga@-1' (did you mean 'fga@"),
        (["--metrics", "fga@1e999"], "no metric is called 'fga@1e999' ("),
        (["--lambda", "half"], "'--lambda': 'half' is not a comma-separated list of numbers. (see troth dst "),
        (["--lambda", "0.5,"], "'--lambda': '0.5,' is not a comma-separated list of numbers. ("),
        (["--lambda", "-1"], "--lambda cannot be '-1' (0 or more; "),
        (["--lambda", "nan"], "--lambda cannot be 'nan' ("),
        (["--lambda", "1e999"], "--lambda cannot be 'inf' ("),
        (["--forget", "6"], "--forget: '' is not a number ("),
        (["--forget", "6,1"], "the number of turns must be above 0, and the share in [0, 1) (for example 6,0.95)"),
        (["--forget", "nan,0.9"], "the number of turns must be above 0, "),
        (["--format", "sgdd"], "no format is called 'sgdd' (did you mean 'sgd'?)"),
        (["--pred-format", "sgdd"], "no format is called 'sgdd' (did you mean 'sgd'?)"),
        (["--pred-format", "trade"], "dialogues_001.json: expected an object, got a list at the top ("),
    ],
)  # fmt: skip
def test_options(troth: Troth, tmp_path: Path, options: list[str], says: str) -> None:
    told(troth("dst", GOLD, HASTY, *options, "--out", str(tmp_path / "run")), says)
    assert tree(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["explain", GOLD, HASTY, "--from", "sdg"], "no profile is called 'sdg' (did you mean 'sgd'?)"),
        (["explain", GOLD, HASTY, "--to", "trippy"], "profile trippy has no values"),
        (["explain", GOLD, HASTY, "--metric", "jg"], "no metric is called 'jg' (did you mean 'jga'?)"),
        (["check", GOLD, "--profile", "sdg"], "no profile is called 'sdg' (did you mean 'sgd'?)"),
        (["check", GOLD, "--format", "sdg"], "no format is called 'sdg' (did you mean 'sgd'?)"),
        (["ls", "metric"], "'metric' is not listed (did you mean 'metrics'?)"),
        (
            ["ls", "xyz"],
            "'xyz' is not listed (one of: metrics, profiles, robustness metrics, response metrics, multiwoz metrics, ",
        ),
        (["convert", GOLD, "new", "--to", "jsnl"], "no format is called 'jsnl' (did you mean 'jsonl'?)"),
        (["convert", GOLD, "new", "--to", "trade"], "'trade' can be read, but not written (can be written: "),
        (["convert", GOLD, GOLD, "--to", "sgd"], "exists already (name a new "),
        (["convert", GOLD, "/nowhere/new", "--to", "sgd"], "its folder does not exist (make '/nowhere' first)"),
        (["convert", GOLD, "x" * 5000, "--to", "sgd"], "cannot be written: File name too long ("),
        (["compare", HASTY, STURDY], "is not a run of troth (score predictions against --gold GOLD)"),
        (["compare", HASTY, "--gold", GOLD], "at least two systems are needed (name another run or prediction)"),
        (["compare", HASTY, HASTY, "--gold", GOLD], "the same prediction is given twice (give each a name"),
        (["compare", HASTY, STURDY, "--gold", GOLD, "--metrics", "jgaa"], "no metric is called 'jgaa' (did you mean "),
        (["compare", HASTY, STURDY, "--gold", GOLD, "--profile", "sdg"], "no profile is called 'sdg' (did you mean "),
        (["compare", HASTY, STURDY, "--gold", GOLD, "--profile", "all"], "are scored by different recipes: "),
        (
            ["gate", HASTY, STURDY, "--gold", GOLD, "--metric", "jga", "--margin", "1", "--confidence", "2"],
            "the gate's confidence must lie between 0.5 and 1, not 2.0 (0.95 is usual)",
        ),
        (
            ["gate", HASTY, STURDY, "--gold", GOLD, "--metric", "jga", "--margin", "nan"],
            "Invalid value for '--margin': nan is not a finite number. (see troth gate --help)",
        ),
        (
            ["gate", HASTY, STURDY, "--gold", GOLD, "--metric", "jga"],
            "a gate needs two runs and --margin, or one run and --at-least or --at-most (troth gate old/ new/",
        ),
    ],
)
def test_other_commands(
    troth: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told(troth(*command), says)
    assert tree(tmp_path) == []


@pytest.mark.parametrize(
    "command",
    [
        ["dst", GOLD, HASTY, "--bogus"],
        ["dst", "--json"],
        ["dst", GOLD, HASTY, "--resamples", "0"],
        ["dst", GOLD, HASTY, "--resamples", "many"],
        ["dst", GOLD, HASTY, "--seed", "-1"],
        ["dst", GOLD, HASTY, "--out"],
        ["dst", GOLD, HASTY, "--unknown", "skip"],
        ["convert", GOLD, "new", "--to", "sgd", "--side", "left"],
        ["explain", "--json"],
        ["check", GOLD, HASTY],
        ["compare", "--gold", GOLD],
        ["gate", HASTY, STURDY, "--gold", GOLD, "--metric", "jga", "--margin", "-1"],
        ["table", "--to", "csv"],
        ["convert", GOLD, "new"],
        ["bogus"],
    ],
)
def test_usage(troth: Troth, command: list[str]) -> None:
    told(troth(*command), "(see troth ", "--help)")


# -- where results go --------------------------------------------------------------------------------------------------


def test_out_is_not_a_run(troth: Troth, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("all of it")
    told(troth("dst", GOLD, HASTY, "--out", str(folder)), f"{folder}: exists and is not a run of troth: it holds 'thes")
    (folder / "run.json").write_text("{}")  # somebody else's; what lies beside it must not go
    told(troth("dst", GOLD, HASTY, "--out", str(folder)), f"{folder}: ")
    told(troth("dst", GOLD, HASTY, "--out", str(folder), "--force"), "it holds 'thesis.tex' (choose another name)")
    told(troth("dst", GOLD, HASTY, "--out", str(folder / "thesis.tex")), "it is a file (choose another name)")
    assert tree(tmp_path) == [str(folder), str(folder / "run.json"), str(folder / "thesis.tex")]
    assert (folder / "thesis.tex").read_text() == "all of it"


@pytest.mark.parametrize(
    ("out", "hint"),
    [
        ("/proc/run", "(is there room, and permission to write?)"),
        ("x" * 300, "(choose another name)"),
        ("file/run", "(choose another name)"),
    ],
)
def test_out_cannot_be_written(
    troth: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    told(troth("dst", GOLD, HASTY, "--out", out), "cannot be written: ", hint)
    assert tree(tmp_path) == [str(tmp_path / "file")]


def test_traceback_free_process(corpus: Corpus) -> None:
    """The same through a real process."""
    corpus.write("pred", b"[{")
    command = [sys.executable, "-m", "troth", "dst", str(corpus.gold), str(corpus.pred)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told(Result(done.returncode, done.stdout, done.stderr), str(corpus.files["pred"]))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("robust", "checkdst", GOLD, "X=x", "--flips", "3"), "--flips is now called --examples."),
        (("robust", "sgdx", GOLD, "v1=x", "--units", "3"), "--units is now called --examples."),
        (("check", GOLD, "--places", "3"), "--places is now called --examples."),
        (("dst", GOLD, "--engine", "ray"), "--engine is now called --on."),
        (("compare", GOLD, "--engine", "ray"), "No such option '--engine'"),  # it never had one
    ],
)
def test_a_former_spelling_names_the_new_one(troth: Troth, arguments: tuple[str, ...], told: str) -> None:
    result = troth(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"troth: {told}")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "flag", "keyword"),
    [
        (("ground", "x.jsonl", "--map", "nonsense"), "--map has 'nonsense'", "columns has 'nonsense'"),
        (("ground", "x.jsonl", "--map", "documnt=a"), "--map has 'documnt'", "columns has 'documnt'"),
    ],
)
def test_errors_speak_of_flags_here_and_of_keywords_in_python(
    troth: Troth, tmp_path: Path, arguments: tuple[str, ...], flag: str, keyword: str
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"id": "1", "document": "a", "response": "b"}\n')
    command, _, option, value = arguments
    assert troth(command, str(file), option, value).err.startswith(f"troth: {flag}")
    with pytest.raises(UserError) as error:
        ground(file, columns=value)
    assert str(error.value).startswith(keyword)
