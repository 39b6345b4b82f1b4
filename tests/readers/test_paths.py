"""Globs, addresses, Parquet and compression: the same dialogues and the same scores as from plain files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import polars as pl
import pytest

import troth
from troth import demo, readers
from troth.core.errors import UserError
from troth.readers import grounded, source, unpack

GOLD = demo.path("gold")
ROWS = [msgspec.json.decode(line) for line in Path(demo.path("documents/careful.jsonl")).read_bytes().splitlines()]


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's gold as one JSONL file."""
    out = tmp_path_factory.mktemp("flat") / "gold.jsonl"
    readers.convert(GOLD, out, "jsonl")
    return out


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_files(flat: Path, tmp_path: Path, ending: str, pack: object) -> None:
    packed = tmp_path / f"gold.jsonl{ending}"
    packed.write_bytes(pack(flat.read_bytes()))  # type: ignore[operator]
    assert list(readers.read(str(packed))) == list(readers.read(str(flat)))
    assert list(readers.read(str(tmp_path))) == list(readers.read(str(flat)))
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(UserError, match="is the file whole"):
        list(readers.read(str(packed)))


def test_a_glob(tmp_path: Path) -> None:
    files = source.files(GOLD)
    for number, file in enumerate(files):
        (tmp_path / f"{number}").mkdir()
        shutil.copy(file, tmp_path / f"{number}" / file.name)
    shutil.copy(Path(GOLD) / "schema.json", tmp_path / "schema.json")
    pattern = str(tmp_path / "*" / "*.json")
    assert sorted(one.id for one in readers.gold(pattern)) == sorted(one.id for one in readers.gold(GOLD))
    result = troth.dst(pattern, demo.path("hasty"), metrics="jga", resamples=10)
    assert result["jga"] == troth.dst(GOLD, demo.path("hasty"), metrics="jga", resamples=10)["jga"]


def test_schemas_beside_the_files_of_a_glob(tmp_path: Path) -> None:
    """Shards bring their own: what they define is taken together, and what they define differently is an error."""
    dialogues = json.loads((Path(GOLD) / "dialogues_001.json").read_text())
    services = json.loads((Path(GOLD) / "schema.json").read_text())
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "dialogues_001.json").write_text(json.dumps(dialogues[number::3]))
        (tmp_path / f"{number}" / "schema.json").write_text(json.dumps(services[: number + 1]))
    pattern = str(tmp_path / "*" / "dialogues*.json")
    assert readers.schema_beside(pattern) == readers.schema_beside(GOLD)
    result = troth.dst(pattern, demo.path("hasty"), metrics="jga", resamples=10)
    assert result["jga"] == troth.dst(GOLD, demo.path("hasty"), metrics="jga", resamples=10)["jga"]
    (tmp_path / "2" / "schema.json").write_text(json.dumps([services[0] | {"description": "another"}]))
    with pytest.raises(UserError, match=r"2/schema\.json: service '.*' is defined differently in .*0/schema\.json"):
        readers.schema_beside(pattern)


def test_a_file_with_brackets_in_its_name(flat: Path, tmp_path: Path) -> None:
    shutil.copy(flat, tmp_path / "gold[1].jsonl")
    assert len(list(readers.read(str(tmp_path / "gold[1].jsonl")))) == 22


def test_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file matches"):
        list(readers.read(str(tmp_path / "*.jsonl")))


def test_addresses() -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    memory = fsspec.filesystem("memory")
    for side in ("gold", "hasty"):
        for file in Path(demo.path(side)).glob("*.json"):
            memory.pipe(f"/places/{side}/{file.name}", file.read_bytes())
    address = "memory://places"
    result = troth.dst(f"{address}/gold", f"hasty={address}/hasty", metrics="jga", resamples=10, workers=2)
    local = troth.dst(GOLD, demo.path("hasty"), metrics="jga", resamples=10)
    assert result["jga"] == local["jga"]
    assert list(readers.read(f"{address}/gold/*.json")) == list(readers.read(f"{address}/gold"))
    with pytest.raises(UserError, match="no such file"):
        list(readers.read(f"{address}/nowhere"))
    with pytest.raises(UserError, match="cannot be opened"):
        list(readers.read("nonsense://bucket/file.jsonl"))


def test_what_a_storage_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    missing = {"class": "nowhere_fs.NowhereFileSystem", "err": "Install nowhere_fs"}
    registry = pytest.importorskip("fsspec.registry")
    monkeypatch.setitem(registry.known_implementations, "nowhere", missing)
    for address in ("nowhere://bucket/file.jsonl", "nowhere://bucket/*.jsonl"):
        with pytest.raises(UserError, match=r'cannot be opened: Install nowhere_fs \(pip install "troth\[remote\]"'):
            list(readers.read(address))

    def refused(*_: object, **__: object) -> None:
        raise LookupError("Unable to locate credentials")  # a class of its own, as botocore has

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "info", refused)
    with pytest.raises(UserError, match=r"Unable to locate credentials \(check the address"):
        list(readers.read("memory://places/file.jsonl"))


def test_an_archive_behind_an_address(flat: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    archive = tmp_path / "gold.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(flat, "gold.jsonl")
    fsspec.filesystem("memory").pipe("/archives/gold.zip", archive.read_bytes())
    fsspec.filesystem("memory").pipe("/archives/broken.zip", archive.read_bytes()[:100])
    assert list(readers.read("memory://archives/gold.zip")) == list(readers.read(str(archive)))
    with pytest.raises(UserError, match="cannot be read"):
        list(readers.read("memory://archives/broken.zip"))


def test_parquet_behind_an_address_has_the_limit_of_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "responses.parquet")
    fsspec.filesystem("memory").pipe("/places/responses.parquet", (tmp_path / "responses.parquet").read_bytes())
    address = "memory://places/responses.parquet"
    assert sum(len(items) for _, items in grounded.batches(address)) == len(ROWS)
    monkeypatch.setenv("TROTH_INPUT_LIMIT", "1KB")
    with pytest.raises(UserError, match="holds more than"):
        list(grounded.batches(address))


IN_WORKERS = """
import sys, troth
from troth.tracking import feed
feed.WORTH_IT = 1
folder = sys.argv[1]
print(*[troth.dst(folder, folder, metrics="jga", resamples=2, workers=workers)["jga"].n for workers in (1, 2)])
"""


def test_parquet_does_not_make_workers_wait_for_ever(flat: Path, tmp_path: Path) -> None:
    lines = [msgspec.json.decode(line) for line in flat.read_bytes().splitlines()]
    for number, id in enumerate(sorted({line["dialogue"] for line in lines})[:4]):
        mine = [line | {"state": {"a": {"b": ["c"]}}} for line in lines if line["dialogue"] == id]
        pl.DataFrame(mine, infer_schema_length=None).write_parquet(tmp_path / f"{number}.parquet")
    command = [sys.executable, "-c", IN_WORKERS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    one, two = done.stdout.split()
    assert int(one) == int(two) > 0


def test_parquet(flat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "responses.parquet"
    pl.DataFrame(ROWS).write_parquet(file)
    plain = [item for _, items in grounded.batches(demo.path("documents/careful.jsonl")) for item in items]
    assert [item for _, items in grounded.batches(str(file)) for item in items] == plain
    monkeypatch.setattr(unpack, "ROWS", 3)
    assert [item for _, items in grounded.batches(str(file)) for item in items] == plain
    dialogues = tmp_path / "gold.parquet"
    lines = [msgspec.json.decode(line) for line in flat.read_bytes().splitlines()]
    for state in (line["state"] for line in lines):  # a column has one type: every value as a list of alternatives
        for slots in state.values():
            slots.update({slot: value if isinstance(value, list) else [value] for slot, value in slots.items()})
    pl.DataFrame(lines, infer_schema_length=None).write_parquet(dialogues)
    same = troth.dst(flat, dialogues, metrics="jga", resamples=10)  # columns have an order of their own
    assert same["jga"].value == 1.0
    file.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(UserError, match="cannot be read"):
        list(readers.read(str(file)))
    file.write_bytes(b"{}")
    with pytest.raises(UserError, match="not a Parquet file"):
        list(readers.read(str(file)))


@pytest.mark.parametrize("name", ["bomb.jsonl", "bomb.json"])
def test_a_bomb_in_an_archive_that_an_address_opens(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its storage unpacks it, so that its own size is that of the unpacked file."""
    pytest.importorskip("fsspec", reason="needs the extra 'remote'")
    pytest.importorskip("upath", reason="needs the extra 'remote'")
    monkeypatch.setattr(unpack, "HARMLESS", 1_000_000)
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, b" " * 20_000_000)
    for path in (str(archive), f"zip://{name}::file://{archive}"):
        with pytest.raises(UserError, match="holds more than"):
            list(source.documents(path, parts=True))
