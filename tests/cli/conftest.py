"""The command line called in this process: fast, with everything that it would print."""

from __future__ import annotations

import gc
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest

from troth import cli, demo
from troth.readers import source

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
SCHEMA = str(Path(GOLD) / "schema.json")


class Result(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Troth = Callable[..., Result]


@pytest.fixture
def troth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Troth]:
    """`troth("dst", gold, pred, "--json")` as a shell would run it; `stdin` is what it reads from `-`."""

    def call(*arguments: str, stdin: bytes | BinaryIO = b"") -> Result:
        source._stdin.cache_clear()
        monkeypatch.setattr(sys, "argv", ["troth", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin) if isinstance(stdin, bytes) else stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        out, err = capsys.readouterr()
        code = end.value.code
        return Result(code if isinstance(code, int) else 0 if code is None else 1, out, err)

    yield call
    source._stdin.cache_clear()
    gc.enable()


@pytest.fixture
def fine(troth: Troth) -> Troth:
    """Like `troth`, for commands that must succeed."""

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        result = troth(*arguments, stdin=stdin)
        assert result.code == 0, result.err
        return result

    return call


class Corpus:
    """A small corpus on disk in SGD's layout, to be spoiled: three bundled dialogues with one tracker's prediction."""

    IDS = ("figure_1", "demo_07", "demo_12")

    def __init__(self, folder: Path) -> None:
        self.folder, self.gold, self.pred = folder, folder / "gold", folder / "pred"
        self.schema = self.gold / "schema.json"
        self.files = {name: folder / name / "dialogues_001.json" for name in ("gold", "pred")}
        for name, data in (("gold", GOLD), ("pred", HASTY)):
            (folder / name).mkdir()
            self.write(name, [d for d in load(data) if d["dialogue_id"] in self.IDS])
        self.schema.write_bytes(Path(SCHEMA).read_bytes())

    def read(self, side: str) -> Any:
        return json.loads(self.files[side].read_bytes())

    def write(self, side: str, value: object) -> None:
        self.files[side].write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())


def load(folder: str) -> Any:
    return json.loads((Path(folder) / "dialogues_001.json").read_bytes())


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)
