"""Every sentence on the page must hold: of few metrics, missing predictions, runs that do not compare."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.report.make import GOLD, HASTY, STURDY, answered, load, result, run, sources, system, tracked, varied, write
from troth.core.metric import Metric, Scale
from troth.report import page
from troth.report.page import cards, contests, figures, grounding, tracking
from troth.report.page.contests import Contest, summary_lines
from troth.report.page.explorer import pack
from troth.report.page.model import Chart, Examples, Grid, Heading, Page, Section, Text
from troth.report.sources import ScoredSystem, Source, open_run
from troth.storage import explorer


def charts(made: Page) -> list[Chart]:
    return [block for section in made.sections for block in section.blocks if isinstance(block, Chart)]


def tables(made: Page) -> list[Grid]:
    return [block for section in made.sections for block in section.blocks if isinstance(block, Grid)]


def texts(made: Page) -> list[str]:
    return [block.text for section in made.sections for block in section.blocks if isinstance(block, Text)]


def with_archive(source: Source, archive: explorer.Archive | None) -> Source:
    make = None if archive is None else lambda: archive
    return replace(source, result=replace(source.result, make_explorer=make))


def scored(out: Path, *arguments: str) -> str:
    run("dst", GOLD, *arguments, "--profile", "trade", "--out", str(out))
    return str(out)


# -- few metrics -------------------------------------------------------------------------------------------------------


def test_without_turn_match_nothing_is_said_of_it(tmp_path: Path) -> None:
    made = page.build(sources(scored(tmp_path / "run", HASTY, STURDY, "--metrics", "jga")))
    hasty = made.cards[0].entries[1]
    assert hasty.sentence == "Right in 33% of turns."
    assert hasty.facts[0] == "Right in 73% in turn 0, 17% in turn 9."
    # No chart of turn match without its rows, and no curve through one point.
    assert [chart.id for chart in charts(made)] == ["turns-jga", "services", "slots"]


def test_without_joint_accuracy_there_is_still_a_page(tmp_path: Path) -> None:
    made = page.build(sources(scored(tmp_path / "run", HASTY, "--metrics", "aga")))
    assert (made.title, made.systems, made.cards) == ("hasty", ["hasty"], [])
    assert tables(made)[0].rows[0][0] == "Average goal accuracy"


def test_responses_by_another_metric_alone(tmp_path: Path) -> None:
    path = answered(tmp_path / "run")
    (source,) = sources(path)
    rest = [score for score in source.result.scores if score.metric == "ser_applicable"]
    made = page.build([replace(source, result=replace(source.result, scores=rest))])
    assert (made.cards, made.systems) == ([], ["whole", "half"])
    assert tables(made)[0].rows[0][0] == "Slot error rate, applicable turns"


def test_no_chart_without_rows_and_no_heading_over_nothing() -> None:
    chart = Chart("c", "lines", "", ["x"], [], "x", "x", "x")
    full = msgspec.structs.replace(chart, rows=[[1]])
    section = Section("s", "", "", [Heading("a"), chart, Heading("b"), full, Heading("c"), chart])
    shown = cards.contribution([], [], section, []).section
    assert shown is not None
    assert shown.blocks == [Heading("b"), full]


@pytest.mark.parametrize(
    ("metric", "name", "start"),
    [
        ("jga", "JGA over the wordings", "Right in 44% of turns on average over 2 wordings, "),
        ("aga", "AGA over the wordings", "Average goal accuracy is "),
        ("fga@0.5", "FGA, λ = 0.5 over the wordings", "FGA, λ = 0.5 is "),
    ],
)
def test_wordings_by_other_metrics(tmp_path: Path, metric: str, name: str, start: str) -> None:
    sets = (f"v1={HASTY}", f"v2={STURDY}", f"orig={STURDY}")
    options = ("--profile", "trade", "--metrics", metric, "--name", "tracker", "--out", str(tmp_path / "run"))
    run("robust", "sgdx", GOLD, *sets, *options)
    (card,) = page.build(sources(str(tmp_path / "run"))).cards
    assert card.metric == name
    assert card.entries[0].sentence.startswith(start)
    assert ("on average" in card.entries[0].sentence) == (metric == "jga")


# -- predictions that are missing or perfect ---------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [GOLD, HASTY])
def test_missing_predictions_are_told_and_are_no_mistakes_of_slots(tmp_path: Path, folder: str) -> None:
    write(tmp_path / "less", load(folder)[4:])
    whole, less = (scored(tmp_path / name, f"s={path}") for name, path in (("a", folder), ("b", tmp_path / "less")))
    made = page.build(sources(less))
    (entry,) = made.cards[0].entries
    assert entry.facts[0] == "4 dialogues have no prediction and count as wrong."
    (skipping,) = page.build(sources(scored(tmp_path / "c", f"s={tmp_path / 'less'}", "--missing", "skip"))).cards
    assert skipping.entries[0].facts[0] == "4 dialogues have no prediction and are left out."
    (before,), (after,) = sources(whole), sources(less)
    left = {dialogue["dialogue_id"] for dialogue in load(GOLD)[:4]}
    made_before = sum(
        fault.since == turn.number
        for dialogue in before.result.explorer().dialogues
        if dialogue.id not in left
        for track in dialogue.tracks
        for turn in track.tracked
        for fault in turn.faults
    )
    assert system(after, "s").tally.slots.total == made_before
    if folder == GOLD:
        assert entry.sentence == "Right in 82% of turns; the rest have no prediction."
        assert not any("once made" in fact for fact in entry.facts)
        assert "s makes no mistake where it predicts." in texts(made)
    else:
        assert entry.sentence.endswith(" of the wrong predictions inherit an earlier mistake.")


def test_missing_predictions_of_a_run_without_dialogues(tmp_path: Path) -> None:
    write(tmp_path / "less", load(HASTY)[4:])
    (source,) = sources(scored(tmp_path / "run", str(tmp_path / "less")))
    made = page.build([with_archive(source, None)])
    assert made.cards[0].entries[0].sentence.endswith("% of turns.")


def test_a_perfect_run(tmp_path: Path) -> None:
    (entry,) = page.build(sources(scored(tmp_path / "run", f"s={GOLD}"))).cards[0].entries
    assert entry.sentence == "Right in 100% of turns: nothing is wrong."
    assert entry.facts == ["Interval: none of 22 dialogues is below 100%."]  # no service is the hardest


def test_an_archive_of_nothing_says_nothing(tmp_path: Path) -> None:
    (source,) = sources(tracked(tmp_path / "run"))
    made = page.build([with_archive(source, explorer.Archive())])
    assert texts(made) == ["run holds no dialogues, so slots cannot be told apart. Run it again."]


def test_what_a_chart_says_of_turns_holds(tmp_path: Path) -> None:
    made = page.build(sources(tracked(tmp_path / "run")))
    note = next(chart.note for chart in charts(made) if chart.id == "turns-jga")
    assert "falls" not in note
    assert note.endswith("turn match only where it is made.")


# -- runs that do not compare ------------------------------------------------------------------------------------------


def test_another_recipe_is_told(tmp_path: Path) -> None:
    trade = tracked(tmp_path / "trade")
    sgd = tracked(tmp_path / "sgd", profile="sgd")
    made = page.build(sources(trade, sgd))
    line = "sgd:sturdy and sgd:hasty are not compared with trade:hasty: other settings (profile sgd against trade)."
    assert line in made.lead
    assert line in tables(made)[0].note


def test_other_dialogues_are_told(tmp_path: Path) -> None:
    gold = tmp_path / "gold"
    write(gold, load(GOLD)[:10])
    (gold / "schema.json").write_bytes(Path(GOLD, "schema.json").read_bytes())
    write(tmp_path / "few", load(STURDY)[:10])
    run("dst", str(gold), str(tmp_path / "few"), "--profile", "trade", "--out", str(tmp_path / "b"))
    made = page.build(sources(scored(tmp_path / "a", HASTY), str(tmp_path / "b")))
    line = "few is not compared with hasty: other dialogues (10 against 22)."
    assert made.lead == ["State tracking on 10 to 22 dialogues.", line]
    assert line in tables(made)[0].note
    row, column, why = tables(made)[0].few[0]
    assert why.endswith("dialogues are below 100%")
    names = tables(made)[0].rows[row][0], tables(made)[0].columns[column]
    assert f"° Few cases: {', '.join(names)}: {why}; " in tables(made)[0].note


def test_runs_without_a_metric_in_common(tmp_path: Path) -> None:
    paths = [scored(tmp_path / metric, f"{metric}={HASTY}", "--metrics", metric) for metric in ("jga", "aga")]
    assert "aga is not compared with jga: no metric in common." in page.build(sources(*paths)).lead


def test_what_compares_has_no_such_line(tmp_path: Path) -> None:
    made = page.build(sources(tracked(tmp_path / "run")))
    assert "not compared" not in " ".join(made.lead) + tables(made)[0].note


@pytest.mark.parametrize(("scale", "size"), [("share", "50.0 points"), ("percent", "50.0 points"), ("number", "0.500")])
def test_a_difference_reads_as_its_metric_says(scale: Scale, size: str) -> None:
    """A rise of a sensitivity is for the worse; it is in points if the metric is printed in percent."""
    metric = Metric("ss_jga", "Schema sensitivity of JGA", better="lower", scale=scale)
    paired = [
        open_run(result(name, metric, right), place) for place, (name, right) in enumerate((("a", 20), ("b", 120)))
    ]
    one = Contest.between([system for source in paired for system in source.systems], ["ss_jga"])
    (shown,) = contests.mark_contests(one)
    assert [system.name for system in one.systems] == ["a", "b"]
    assert shown.marks == {"a": ["-w"], "b": ["b-"]}
    (line,) = summary_lines(one, shown.marks, ["ss_jga"])
    assert line == f"b is {size} above a in schema sensitivity of JGA, beyond noise."


def test_the_summary_says_what_the_marks_say() -> None:
    """ "Ahead of all others" and "no difference shown" come from the same tests, with the same correction."""
    metric = Metric("jga", "JGA", headline=True)
    names = (("a", 120), ("b", 100), ("c", 20))
    runs = [open_run(result(name, metric, right), place) for place, (name, right) in enumerate(names)]
    one = Contest.between([system for source in runs for system in source.systems], ["jga"])
    (line,) = summary_lines(one, {"a": ["-ww"]}, ["jga"])
    assert line == "Best in JGA: a (60.0%), ahead of all others beyond noise."
    (line,) = summary_lines(one, {"a": ["-=w"]}, ["jga"])
    assert line.startswith("Best in JGA: a (60.0%); no difference from it shown for b (")
    assert " c (" not in line


@pytest.mark.parametrize(("scale", "shown", "plain"), [("percent", "51.9", ""), ("number", "0.519", "sensitivity")])
def test_a_sensitivity_reads_as_its_metric_says(tmp_path: Path, scale: Scale, shown: str, plain: str) -> None:
    (source,) = sources(varied(tmp_path / "run"))
    scores = [
        msgspec.structs.replace(s, scale=scale, value=0.519, low=0.4, high=0.6) if s.metric == "ss_jga" else s
        for s in source.result.scores
    ]
    metrics = [msgspec.structs.replace(m, scale=scale) if m.name == "ss_jga" else m for m in source.result.metrics]
    made = page.build([replace(source, result=replace(source.result, scores=scores, metrics=metrics))])
    (entry,) = made.cards[0].entries
    assert f"Schema sensitivity {shown}; 0 would be perfectly steady." in entry.facts
    assert next(row[1] for row in tables(made)[0].rows if "sensitivity" in row[0]).startswith(f"{shown} (")
    assert next(chart.plain for chart in charts(made) if chart.kind == "scatter") == plain


# -- names -------------------------------------------------------------------------------------------------------------


def test_two_runs_with_profiles_have_charts_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("dst", GOLD, HASTY, "--profiles", "sgd,trade", "--out", str(tmp_path / name))
    made = page.build(sources(str(tmp_path / "one"), str(tmp_path / "two")))
    found = [chart for chart in charts(made) if chart.id.startswith("profiles-")]
    assert len({chart.title for chart in found}) == 2
    assert [chart.title.partition(",")[0] for chart in found] == [entry.system for entry in made.cards[0].entries]


def test_every_figure_has_a_name_of_its_own() -> None:
    chart = Chart("a/b", "lines", "", ["x"], [[1]], "x", "x", "x")
    blocks = [msgspec.structs.replace(chart, id=id) for id in ("a/b", "a b", "A b", "a_b-2", "c")]
    made = Page("", [], [], [], [Section("s", "", "", list(blocks))], [], "")
    names = [name for name, _ in figures.page_charts(made)]
    assert names == ["s-a_b", "s-a_b-2", "s-A_b-3", "s-a_b-2-2", "s-c"]


def systems(*paths: str) -> list[str]:
    data = json.loads(gzip.decompress(base64.b64decode(pack(sources(*paths)).block())))
    return [str(name) for name in data["systems"]]


def test_the_original_wording_is_the_system_itself(tmp_path: Path) -> None:
    """If it predicts the same; otherwise both are shown."""
    dst = scored(tmp_path / "dst", HASTY, STURDY)
    for name, expected in (("sturdy", []), ("hasty", ["hasty orig"])):
        out = str(tmp_path / f"x-{name}")
        sets = (f"v1={HASTY}", f"v2={GOLD}", f"orig={STURDY}")
        run("robust", "sgdx", GOLD, *sets, "--profile", "trade", "--name", name, "--out", out)
        assert systems(dst, out) == ["hasty", "sturdy", f"{name} v1", f"{name} v2", *expected]
    assert systems(varied(tmp_path / "alone")) == ["tracker v1", "tracker v2", "tracker v3", "tracker orig"]


# -- responses ---------------------------------------------------------------------------------------------------------


def judged(number: int, *, label: int | None = None, faithful: bool | None = None) -> explorer.ResponseView:
    verdict = {} if faithful is None else {"nli": faithful}
    return explorer.ResponseView(
        "bot", f"r{number:02}", "d", "t", label=label, values={"nli": number / 100}, faithful=verdict
    )


def examples(tmp_path: Path, *responses: explorer.ResponseView) -> list[tuple[str, str]]:
    (source,) = sources(tracked(tmp_path / "run"))
    archive = explorer.Archive(explorer.Header(holds="responses"), responses=list(responses))
    kept = with_archive(replace(source, names={}), archive)
    found = grounding._examples([ScoredSystem(kept, "bot", "bot")], "nli")
    for block in found:
        assert isinstance(block, Examples)
        assert block.total == len(block.items)
    return [(one.place, one.group) for block in found if isinstance(block, Examples) for one in block.items]


def test_without_a_calibration_none_is_said_to_score_high(tmp_path: Path) -> None:
    shown = examples(tmp_path, *(judged(number, label=0) for number in range(16)))
    assert shown == [(f"r0{number}", "least faithful") for number in range(4)]


def test_with_a_calibration_its_verdict_tells(tmp_path: Path) -> None:
    shown = examples(
        tmp_path,
        judged(1, label=0, faithful=False),
        judged(2, label=1, faithful=False),
        judged(3, label=0, faithful=True),
        judged(4, label=1, faithful=True),
    )
    assert shown == [("r01", "least faithful"), ("r02", "least faithful"), ("r03", "scored high, not supported")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("orchid", "orchids"), ("road", "roads"), ("friend", "friends"), ("island", "islands"), ("build", "buildings"),
        ("need", "needed"), ("carry", "carried"), ("carries", "carried"), ("movie", "movies"), ("base", "based"),
        ("class", "classes"),
    ],
)  # fmt: skip
def test_forms_of_a_word_support_each_other(one: str, other: str) -> None:
    for said, document in ((one, other), (other, one)):
        response = explorer.ResponseView("s", "1", f"It says {document}.", said)
        assert not [piece for piece in grounding.mark_unsupported(response) if piece.mark]
    assert [
        piece.text
        for piece in grounding.mark_unsupported(explorer.ResponseView("s", "1", "It says so.", one))
        if piece.mark
    ]


def test_units_that_are_wrong(tmp_path: Path) -> None:
    (source,) = sources(tracked(tmp_path / "run"))
    score = system(source, "hasty").score("jga")
    wrong = tracking.wrong_units(system(source, "hasty"))
    assert score is not None
    assert wrong.all == wrong.predicted == score.n - round((score.value or 0.0) * score.n)
