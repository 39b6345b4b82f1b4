"""The documentation is complete: every page is in the navigation, every link leads somewhere, every name is there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from docs_build import markdown, pages, python_api, reference

import troth
from troth import cli, models, readers
from troth.agents.live.summary import METRICS as LIVE
from troth.agents.metrics import METRICS as AGENTS
from troth.agents.rules import RULES
from troth.core.registry import Registry
from troth.core.result import FINDINGS
from troth.core.tasks import TASKS as SCORING_TASKS
from troth.grounding.metrics import METRICS as GROUNDING
from troth.models import catalog
from troth.perturb.answers import KINDS as CORRUPTIONS
from troth.perturb.schemas.generators import GENERATORS
from troth.perturb.users import FAMILIES
from troth.perturb.users.engines import ENGINES
from troth.readers import grounded, trajectories
from troth.responses.metrics import METRICS as RESPONSES
from troth.responses.multiwoz.metrics import METRICS as MULTIWOZ
from troth.robustness.metrics import METRICS as ROBUSTNESS
from troth.systems.recipe import RECIPES, TRACKERS
from troth.systems.tasks import TASKS
from troth.tracking.metrics import METRICS as TRACKING
from troth.tracking.profiles import CHOICES, PROFILES

METRICS: tuple[Registry[Any], ...] = (TRACKING, ROBUSTNESS, RESPONSES, MULTIWOZ, GROUNDING, AGENTS, LIVE)
PLUGGABLE: tuple[Registry[Any], ...] = (
    readers.FORMATS, grounded.FORMATS, trajectories.FORMATS, FAMILIES, ENGINES, GENERATORS, models.BACKENDS, PROFILES,
    RULES, CORRUPTIONS, RECIPES, TRACKERS, TASKS, FINDINGS, SCORING_TASKS,
)  # fmt: skip
SITE = pages.pages()
SOURCES = [str(file.relative_to(pages.ROOT)) for file in sorted(pages.DOCS.rglob("*.md"))] + [
    "README.md",
    *pages.OUTSIDE,
]

LINK = re.compile(r"\]\((?![a-z]+:)([^)\s]*)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def links(text: str) -> Iterator[tuple[str, str]]:
    """Files and anchors that a page links to."""
    for target in LINK.findall(FENCE.sub("", text)):
        file, _, anchor = target.partition("#")
        yield file, anchor


def anchors(text: str) -> set[str]:
    """What headings are called, here and where the sources are read."""
    titles = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_the_navigation_has_every_page_once() -> None:
    nav = (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r": (\S+\.md)$", nav, re.MULTILINE)) == sorted(SITE)


@pytest.mark.parametrize("path", SOURCES)
def test_links_lead_somewhere_in_the_sources(path: str) -> None:
    text = (pages.ROOT / path).read_text(encoding="utf-8")
    for file, anchor in links(text):
        there = (pages.ROOT / path).parent / file if file else pages.ROOT / path
        assert there.exists(), f"{file} is not there"
        if anchor:
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"{file}#{anchor} is not there"


@pytest.mark.parametrize("path", SITE)
def test_links_lead_somewhere_in_the_site(path: str) -> None:
    for file, anchor in links(SITE[path]):
        there = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        assert there in SITE or (pages.DOCS / there).is_file(), f"{file} is no page"
        if anchor:
            assert anchor in anchors(SITE[there]), f"{file}#{anchor} is not there"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("metrics", [name for registry in METRICS for name in registry.own]),
        ("profiles", [*PROFILES.own, *CHOICES, *RULES.own]),
        ("formats", [*readers.FORMATS.own, *grounded.FORMATS.own, *trajectories.FORMATS.own]),
        ("perturbations", [*FAMILIES.own, *GENERATORS.own]),
        ("backends", [*models.forms(), *(model.name for model in catalog.all_models())]),
        ("python", [name for name in troth.__all__ if not name.startswith("__")]),
    ],
)
def test_the_reference_names_everything(page: str, names: list[str]) -> None:
    text = SITE[f"reference/{page}.md"]
    shown = set(re.findall(r"`([^`]+)`", text)) | set(re.findall(r"^#+ (?:troth\.)?(.*)$", text, re.MULTILINE))
    assert set(names) <= shown
    assert len(names) > 3


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, list[str]]]:
    """Every command below this one by its path, with its options."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, click.Context(below, info_name=name, parent=context))
    if context.parent is not None and not command.hidden:
        options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
        yield context.command_path, [option.opts[0] for option in options if not option.hidden]


def test_the_reference_has_every_command_and_option() -> None:
    text = SITE["reference/commands.md"]
    found = dict(commands(cli.app, click.Context(cli.app, info_name="troth")))
    assert {"troth dst", "troth perturb schema"} <= set(found)
    for path, options in found.items():
        told = re.search(rf"^#+ {path}\n(.*?)(?=^#+ |\Z)", text, re.DOTALL | re.MULTILINE)
        assert told, f"{path} is not there"
        assert not [option for option in options if f"`{option}" not in told[1]], path


def test_every_metric_has_its_formula_and_its_trap() -> None:
    sections = re.split(r"^### ", (pages.DOCS / "metrics.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    named = set(re.findall(r"`([^`:@]+)[^`]*`", "".join(sections)))
    missing = {name.partition("@")[0] for registry in METRICS for name in registry.own} - named
    assert missing == {"slack"}, "over several runs: see docs/robustness.md"
    for section in sections:
        assert section.count("$$") >= 2, section[:40]
        assert "**Trap" in section, section[:40]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ""),
        ("a < b, `a < b`", "a &lt; b, `a < b`"),
        ("costs $5 or $(x)", "costs \\$5 or \\$(x)"),
        ("Said.\n\n    code < $x\n", "Said.\n\ncode &lt; \\$x"),  # a docstring's own indent is not code
        ("Said.\n\n    two\n        code < $x\n", "Said.\n\ntwo\n    code < $x"),
        ("Said.\n\n    >>> 1 < 2\n    True\n\n    More.\n", "Said.\n\n```pycon\n>>> 1 < 2\nTrue\n```\n\nMore."),
    ],
)
def test_docstrings_as_markdown(text: str | None, expected: str) -> None:
    assert markdown.prose(text) == expected


def test_options_come_with_their_defaults_and_help() -> None:
    text = python_api.page()
    assert re.search(r"^    common: bool = False,$", text, re.MULTILINE)
    assert re.search(r"^\| `common` \| `False` \| Score only the dialogues that", text, re.MULTILINE)
    assert re.search(r"^### perturb\n\n```python\nperturb\(\n    data: Path", text, re.MULTILINE)


def test_empty_columns_are_left_out() -> None:
    assert markdown.table(["a", "b"], [["x", ""], ["y", ""]]).splitlines() == ["| a |", "| --- |", "| x |", "| y |"]


def test_cells_keep_their_bars() -> None:
    assert markdown.table(["a"], [["x | y, `p|q`"]]).splitlines()[-1] == "| x \\| y, `p|q` |"


def test_links_are_led_from_files_to_pages() -> None:
    assert (
        pages._led("docs/recipes/a.md", "[x](../../CHANGELOG.md#y) [z](../b.md)")
        == "[x](../changelog.md#y) [z](../b.md)"
    )
    assert pages._led("CHANGELOG.md", "[x](docs/b.md) [y](https://a.b/c)") == "[x](b.md) [y](https://a.b/c)"


def test_pages_are_laid_out(tmp_path: Path) -> None:
    out = tmp_path / "docs"
    out.mkdir()
    (out / "old.md").touch()
    pages.lay_out(out)
    assert not (out / "old.md").exists()
    assert (out / "assets/site.css").is_file()
    assert {str(file.relative_to(out)) for file in out.rglob("*.md")} == set(SITE)
    assert set(reference.pages()) <= set(SITE)


NAME = re.compile(r"(?<![\w/.-])troth((?:\.[A-Za-z_]\w*)+)")
NOT_PYTHON = (".fish", ".toml", ".signature.", ".unscored.", ".version")  # files, and tags of MLflow


@pytest.mark.parametrize("path", SOURCES)
def test_python_names_exist(path: str) -> None:
    """Every `troth.name` that a page writes can be reached, or is a group of entry points."""
    if path == "CHANGELOG.md":
        return  # has names of earlier versions
    groups = {registry.group for registry in (*METRICS, *PLUGGABLE)}
    for name in sorted(set(NAME.findall((pages.ROOT / path).read_text(encoding="utf-8")))):
        if f"troth{name}" not in groups and not name.startswith(NOT_PYTHON):
            assert reachable(name.lstrip(".").split(".")), f"troth{name} does not exist"


def reachable(names: list[str]) -> bool:
    found: object = troth
    for place, name in enumerate(names, 1):
        if name in ("gate", "at_least", "at_most") and place == 1:
            return True  # of the package, or of the fixture of the same name
        try:
            found = getattr(found, name) if hasattr(found, name) else import_module(".".join(["troth", *names[:place]]))
        except ImportError:
            return False
    return True
