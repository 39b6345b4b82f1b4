"""Every command that prints a result prints it as JSON when asked, and nothing coloured into a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.conftest import GOLD, HASTY, Troth
from troth import cli
from troth.storage.cache import Store

WITHOUT = {"completion", "serve"}  # print a script, and run until they are stopped


def commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}".strip())
    else:
        yield path, command


def test_every_command_has_it() -> None:
    without = {
        path for path, command in commands(cli.app) if "--json" not in [o for p in command.params for o in p.opts]
    }
    assert without == WITHOUT


@pytest.fixture
def run(fine: Troth, tmp_path: Path) -> str:
    fine("dst", GOLD, HASTY, "--metrics", "jga", "--out", str(tmp_path / "run"))
    return str(tmp_path / "run")


def test_table(fine: Troth, troth: Troth, run: str) -> None:
    made = fine("table", run, "--json")
    assert made.out == fine("table", run, "--to", "json").out
    assert [score["metric"] for score in made.json()] == ["jga"]
    result = troth("table", run, "--json", "--to", "latex")
    assert (result.code, result.err) == (2, "troth: --json and --to latex exclude each other (give one of them)\n")


def test_convert(fine: Troth, tmp_path: Path) -> None:
    folder, file = tmp_path / "new", tmp_path / "new.jsonl"
    made = fine("convert", GOLD, str(folder), "--to", "sgd", "--json")
    files = [str(folder / name) for name in ("dialogues_001.json", "schema.json")]
    assert made.json() == {"out": str(folder), "format": "sgd", "files": files}
    assert made.err == f"written: {folder}\n"
    made = fine("convert", GOLD, str(file), "--to", "jsonl", "--json")
    assert made.json() == {"out": str(file), "format": "jsonl", "files": [str(file)]}


def test_report(fine: Troth, run: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    made = fine("report", run, "--out", str(page), "--json").json()
    assert made == {"page": str(page), "bytes": page.stat().st_size, "figures": []}


def test_report_with_figures(fine: Troth, run: str, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    page, figures = str(tmp_path / "page.html"), tmp_path / "figures"
    made = fine("report", run, "--out", page, "--figures", str(figures), "--json").json()
    assert made["figures"] == sorted(str(file) for file in figures.iterdir())
    assert {Path(file).suffix for file in made["figures"]} == {".svg", ".png"}


def test_figures_make_no_folder_above(troth: Troth, run: str, tmp_path: Path) -> None:
    """As the page does not."""
    pytest.importorskip("altair")
    for option in ("--out", "--figures"):
        place = tmp_path / "no" / "such"
        result = troth("report", run, "--out", str(tmp_path / "page.html"), option, str(place))
        assert (result.code, result.err) == (
            2, f"troth: {place}: its folder does not exist (make '{place.parent}' first)\n",
        )  # fmt: skip
        assert [item.name for item in tmp_path.iterdir()] == ["run"]


def test_models(fine: Troth) -> None:
    assert fine("models", "--json").out == fine("models", "list", "--json").out
    assert fine("models", "verify", "troth-nli", "--json").json() == [{"model": "troth-nli", "fault": None}]


def test_cache(fine: Troth, tmp_path: Path) -> None:
    file = str(tmp_path / "answers.sqlite")
    Store(file).put("m", [(b"k", b"v")])
    trimmed = fine("cache", "--cache", file, "trim", "--to", "100MB", "--json").json()
    assert (trimmed["file"], trimmed["dropped"], trimmed["answers"]) == (file, 0, 1)
    assert trimmed["bytes"] > 0
    assert fine("cache", "--cache", file, "clear", "--json").json() == {"file": file, "dropped": 1}


@pytest.mark.parametrize(
    "arguments",
    [("dst", GOLD, HASTY), ("explain", GOLD, HASTY), ("check", GOLD), ("ls",), ("models",), ("--help",), ("dst", "-h")],
)
def test_nothing_is_coloured_in_a_pipe(
    fine: Troth, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Whatever the terminal can do."""
    monkeypatch.setenv("TERM", "xterm-256color")
    result = fine(*arguments)
    assert "\x1b" not in result.out + result.err
    assert not set(result.out) & set("│┃━─┌")
