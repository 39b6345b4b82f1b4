"""Runs that are damaged, and places that no page can be written to: one line each, no traceback, no waiting."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Troth, troth  # noqa: F401  (a fixture)
from tests.report.make import reseal, sources, tracked, varied
from troth.core.errors import UserError
from troth.report import page, write
from troth.report.page.render import MARK


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return {"dst": tracked(folder / "dst"), "schema": varied(folder / "schema")}


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (pl.col("num").cast(pl.String), "rows.parquet: 'num' holds String, not numbers"),
        (pl.col("dialogue").str.len_chars(), "rows.parquet: 'dialogue' holds UInt32, not text"),
        (pl.col("turn").cast(pl.Float64), "rows.parquet: 'turn' holds Float64, not whole numbers"),
        (pl.lit(1).alias("service"), "rows.parquet: 'service' holds Int32, not text"),
        (pl.when(pl.col("den") > 1).then("system").alias("system"), "rows.parquet: 'system' has gaps"),
    ],
)
def test_columns_of_another_kind(runs: dict[str, str], tmp_path: Path, damage: pl.Expr, expected: str) -> None:
    path = Path(shutil.copytree(runs["dst"], tmp_path / "run"))
    pl.read_parquet(path / "rows.parquet").with_columns(damage).write_parquet(path / "rows.parquet")
    reseal(path)
    with pytest.raises(UserError) as told:
        page.build(sources(str(path)))
    assert str(told.value) == f"{path}: {expected} (make the run again)"


def test_a_flipped_bit_never_changes_a_number(runs: dict[str, str], tmp_path: Path) -> None:
    """Parquet has no checksum here: flipping one bit in six gave other numbers without a word."""
    path = Path(shutil.copytree(runs["dst"], tmp_path / "run"))
    whole = (path / "rows.parquet").read_bytes()
    for number in range(100):
        chance = random.Random(number)
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        (path / "rows.parquet").write_bytes(damaged)
        with pytest.raises(UserError, match="is not the file that the run wrote"):
            sources(str(path))[0].rows  # noqa: B018


def test_rows_without_turns(runs: dict[str, str], tmp_path: Path) -> None:
    path = Path(shutil.copytree(runs["dst"], tmp_path / "run"))
    pl.read_parquet(path / "rows.parquet").drop("turn").write_parquet(path / "rows.parquet")
    reseal(path)
    with pytest.raises(UserError, match=r"rows\.parquet has no column 'turn'"):
        page.build(sources(str(path)))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("values", {"v1": "abc"}, "run.json: findings: Expected `float`, got `str` - at `$.values[...]`"),
        ("turn", [1], "run.json: findings: Expected `int`, got `array` - at `$.turn`"),
    ],
)
def test_findings_of_another_kind(
    runs: dict[str, str], tmp_path: Path, field: str, value: object, expected: str
) -> None:
    path = Path(shutil.copytree(runs["schema"], tmp_path / "run"))
    found = json.loads((path / "run.json").read_bytes())
    found["findings"][0][field] = value
    (path / "run.json").write_text(json.dumps(found))
    reseal(path)
    with pytest.raises(UserError) as told:
        page.build(sources(str(path)))
    assert expected in str(told.value)
    assert str(path) in str(told.value)


def test_a_pipe_is_not_read(troth: Troth, runs: dict[str, str], tmp_path: Path) -> None:  # noqa: F811
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    handle = os.open(pipe, os.O_RDWR)  # so that opening it does not wait, and reading it would
    try:
        result = troth("report", runs["dst"], "--out", str(pipe))
    finally:
        os.close(handle)
    assert (result.code, result.err) == (2, f"troth: {pipe}: is not a file (choose another name)\n")


def test_little_is_read_of_what_is_there(runs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may be large; its first line says what it is."""

    def whole(_: Path) -> bytes:
        raise AssertionError("read as a whole")

    out = tmp_path / "report.html"
    out.write_text(MARK)
    monkeypatch.setattr(Path, "read_bytes", whole)
    assert write._foreign_content(out) is None


def test_a_panic_of_the_reader_is_one_line(
    runs: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """polars panics on some damaged files: it prints a backtrace, and raises what is no Exception."""

    def panic(_: Path) -> pl.DataFrame:
        os.write(2, b"thread panicked at crates/polars\n")
        raise pl.exceptions.PanicException("assertion failed: offset\nmore")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(UserError) as told:
        page.build(sources(runs["dst"]))
    file = Path(runs["dst"], "rows.parquet")
    assert str(told.value) == f"{file}: cannot be read: assertion failed: offset (make the run again)"
    assert capfd.readouterr().err == ""
    os.write(2, b"heard again\n")
    assert capfd.readouterr().err == "heard again\n"
