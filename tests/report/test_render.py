"""The file: one, whole, strict about what may run in it, and written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.conftest import Troth, troth  # noqa: F401  (a fixture)
from tests.report.make import EVIL, hostile, page, reseal, sources, tracked
from troth.report import page as pages
from troth.report import write
from troth.report.page import render
from troth.report.page.explorer import pack
from troth.report.page.trajectories import pack_trials


class Tags(HTMLParser):
    """What a browser would see as elements, and the text of the scripts and styles among them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in self.inside:
            self.open = tag
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = "" if tag == self.open else self.open

    def handle_data(self, data: str) -> None:
        if self.open:
            self.inside[self.open][-1] += data


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tracked(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> str:
    return hostile(tmp_path_factory.mktemp("runs") / "evil")


def rendered(*runs: str) -> str:
    found = sources(*runs)
    dialogues, trials, made = pack(found), pack_trials(found), pages.build(found)
    return render.render(made, dialogues.block(made.systems), trials.block(made.systems))


def parsed(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def test_the_policy_allows_this_script_and_this_style_alone(run: str) -> None:
    tags = parsed(rendered(run))
    policy = next(a["content"] or "" for tag, a in tags.found if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        digest = hashlib.sha256(tags.inside[tag][-1].encode()).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy


def test_nothing_comes_from_elsewhere(run: str) -> None:
    tags = parsed(rendered(run))
    assert not [a for _, a in tags.found if "src" in a or str(a.get("href", "")).startswith("http")]
    assert not [name for _, a in tags.found for name in a if name.startswith("on")]
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", rendered(run))
    script = tags.inside["script"][-1]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch("):
        assert way not in script


def test_hostile_text_ends_no_block(run: str, evil: str) -> None:
    plain, harmed = (parsed(rendered(path)) for path in (run, evil))
    tags = [tag for tag, _ in harmed.found]
    assert tags.count("script") == 4
    assert not {"img", "svg"} & set(tags)
    # A name that looks like a place in the template is no place.
    assert harmed.inside["script"][-1] == plain.inside["script"][-1]
    assert "\\u003c/script>" in harmed.inside["script"][0]
    assert EVIL not in rendered(evil)


def test_the_same_runs_give_the_same_page(run: str) -> None:
    assert rendered(run) == rendered(run)


def test_parts_cannot_end_their_block() -> None:
    for name in render.SCRIPTS:
        assert "</script" not in render.part(name)
    assert "</style" not in "".join(render.part(name) for name in render.STYLES)


# -- the command -------------------------------------------------------------------------------------------------------


def test_report(troth: Troth, run: str, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "report.html"
    result = troth("report", run, "--out", str(out))
    assert (result.code, result.out) == (0, "")
    assert result.err == f"written: {out} (0.2 MB)\n"
    assert out.read_text().startswith(render.MARK)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    first = out.read_bytes()
    assert troth("report", run, "--out", str(out)).code == 0  # a page is replaced
    assert out.read_bytes() == first


def test_a_page_may_lie_in_its_run(troth: Troth, tmp_path: Path) -> None:  # noqa: F811
    run = tracked(tmp_path / "run")
    page(Path(run) / "report.html", run)
    tracked(tmp_path / "run", "--force")  # and does not keep the run from being made again
    assert sorted(os.listdir(run)) == ["dialogues.jsonl.gz", "rows.parquet", "run.json"]


def test_clear_errors(troth: Troth, run: str, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "thesis.html").write_text("years of work")
    (tmp_path / "folder").mkdir()
    (tmp_path / "odd").mkdir()
    for name in ("run.json", "rows.parquet"):
        (tmp_path / "odd" / name).write_bytes((Path(run) / name).read_bytes())
    (tmp_path / "odd" / "dialogues.jsonl.gz").write_bytes(b"no gzip")
    reseal(tmp_path / "odd")
    out = str(tmp_path / "new.html")
    for arguments, told in (
        ((str(tmp_path / "nowhere"), "--out", out), "not a run: no run.json in it"),
        ((f"{run}/run.json", "--out", out), "is not a run's folder"),
        ((run, run, "--out", out), "the same run is named twice"),
        ((run, "--out", str(tmp_path / "thesis.html")), "exists and is not a page of troth"),
        ((run, "--out", str(tmp_path / "folder")), "is a folder"),
        ((run, "--out", str(tmp_path / "no" / "such.html")), "its folder does not exist"),
        ((run, "--out", out, "--figures", str(tmp_path / "folder")), "exists already"),
        ((str(tmp_path / "odd"), "--out", out), "dialogues.jsonl.gz: cannot be read"),
        ((), "Usage:"),
    ):
        result = troth("report", *arguments)
        assert result.code == 2, arguments
        assert told in result.err
        assert "Traceback" not in result.err
    assert (tmp_path / "thesis.html").read_text() == "years of work"
    assert not Path(out).exists()


def test_a_crash_leaves_the_old_page(run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = page(tmp_path / "report.html", run)
    before = out.read_bytes()

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write.report(run, out=str(out))
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
