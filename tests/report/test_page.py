"""What the page says of runs: cards, sentences, charts, and the dialogues packed into it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.report.make import (
    GOLD,
    HASTY,
    STURDY,
    answered,
    grounded,
    perturbed,
    reseal,
    run,
    sources,
    system,
    tracked,
    varied,
)
from tests.report.make import result as made_up
from troth import demo
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.grounding.words import judge_words
from troth.report import page
from troth.report.page import checkdst, grounding, tracking
from troth.report.page.explorer import pack
from troth.report.page.model import Chart, Examples, Grid, Page, Text
from troth.report.page.names import open_runs
from troth.report.sources import estimate_groups
from troth.robustness.checkdst import checkdst as checkdst_task
from troth.robustness.sgdx import sgdx as sgdx_task
from troth.storage import explorer
from troth.tracking.score import dst


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        "dst": tracked(folder / "dst", "--by", "service"),
        "sgd": tracked(folder / "sgd", profile="sgd"),
        "user": perturbed(folder / "user"),
        "schema": varied(folder / "schema"),
        "nlg": answered(folder / "nlg"),
        "ground": grounded(folder / "ground"),
    }


def charts(made: Page) -> dict[str, Chart]:
    return {block.id: block for section in made.sections for block in section.blocks if isinstance(block, Chart)}


def grids(made: Page) -> dict[str, Grid]:
    return {block.id: block for section in made.sections for block in section.blocks if isinstance(block, Grid)}


# -- state tracking ----------------------------------------------------------------------------------------------------


def test_the_story_in_plain_words(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["dst"]))
    assert made.title == "sturdy and hasty"
    assert made.lead == [
        "State tracking on 22 dialogues.",
        "sturdy is 22.0 points above hasty in joint goal accuracy and 18.6 points below hasty in turn match, "
        "beyond noise.",
    ]
    (card,) = made.cards
    sturdy, hasty = card.entries  # the best first
    assert hasty.sentence == "Right in 33% of turns; two thirds of the wrong ones inherit an earlier mistake."
    assert hasty.facts == [
        "Mistakes pile up: right in 73% in turn 0, 17% in turn 9.",
        "Hardest service: Trains_1 (29%); easiest: Stays_1 (36%).",
        "Most mistakes: Stays_1.hotel_name.",
        "A mistake once made stands for 3.7 turns on average.",
        "10 wrong Stays_1.nights values equal gold if any of gold's values counts.",
        "8 wrong Sights_1.visit_time values equal gold if any of gold's values counts.",
    ]
    # Of the turns that sturdy gets wrong, nine in ten are fresh: nothing piles up there.
    assert sturdy.facts[0] == "Right in 95% in turn 0, 17% in turn 9."
    assert "Most mistakes: Stays_1.hotel_name, mostly given a wrong value." in sturdy.facts
    (contest,) = made.sections[0].contests
    assert (contest.systems, contest.base) == (["sturdy", "hasty"], "hasty")  # compared with the first that is named
    assert hasty.signature.startswith("JGA|profile:trade|")


def marked(made: Page, base: str, section: int = 0) -> dict[str, dict[str, str]]:
    """By metric and system: better, worse, level or not compared, against a base."""
    return {
        metric: dict(zip(contest.systems, letters, strict=True))
        for contest in made.sections[section].contests
        for metric, letters in zip(contest.metrics, contest.marks.get(base, []), strict=True)
    }


def test_only_what_is_beyond_noise_is_marked(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["dst"]))
    marks = marked(made, "hasty")
    assert marks["jga"] == {"sturdy": "b", "hasty": "-"}
    assert marks["turn_match"] == {"sturdy": "w", "hasty": "-"}
    assert marks["fga@0.5"]["sturdy"] == "="
    assert marked(made, "sturdy")["jga"] == {"sturdy": "-", "hasty": "w"}


def test_a_section_is_one_family(runs: dict[str, str], tmp_path: Path) -> None:
    """Its size is on the page: the headline metrics of every system against the base."""
    made = page.build(sources(runs["dst"]))
    (contest,) = made.sections[0].contests
    assert contest.metrics == ["jga", "aga", "fga@0.5", "turn_match"]
    assert contest.tests == {"hasty": 4, "sturdy": 4}
    four = page.build(sources(runs["dst"], runs["user"])).sections[0].contests
    assert four == [contest]  # another section has a family of its own
    users = [perturbed(tmp_path / name) for name in ("a", "b")]
    both = page.build(sources(*users, varied(tmp_path / "c"))).sections[0].contests
    assert [one.systems for one in both] == [["a", "b"], ["tracker"]]
    assert both[0].tests["a"] == len(both[0].metrics)


def test_nothing_is_tested_twice() -> None:
    """cJGA over all pairs repeats cJGA, each wording repeats the mean, and the original schema is the original set."""
    preds = {"hasty": HASTY, "sturdy": STURDY}
    twins = {name: {"SDI": (GOLD, demo.path(f"twins/{name}-SDI.jsonl"))} for name in preds}
    user = checkdst_task({name: (GOLD, pred) for name, pred in preds.items()}, twins, profile="trade", resamples=5)
    worded = {name: {"v1": HASTY, "v2": pred, "orig": pred} for name, pred in preds.items()}
    schema = sgdx_task(GOLD, worded, profile="trade", resamples=5)
    users, schemas = page.build(open_runs([user, schema])).sections[0].contests
    assert users.metrics == ["jga", "cjga:SDI"]
    assert schemas.metrics == ["jga_v1-2", "ss_jga", "all_wrong_jga"]
    assert users.tests == schemas.tests == {"hasty": 5, "sturdy": 5}
    (alone,) = page.build(open_runs([schema])).sections[0].contests[1:]
    assert alone.metrics == ["jga_orig", "jga_v1-2", "ss_jga", "all_wrong_jga"]


def test_the_largest_difference_is_told_first() -> None:
    preds = {"hasty": HASTY, "sturdy": STURDY}
    twins = {name: {"SDI": (GOLD, demo.path(f"twins/{name}-SDI.jsonl"))} for name in preds}
    user = checkdst_task({name: (GOLD, pred) for name, pred in preds.items()}, twins, profile="trade", resamples=5)
    tracking_run = open_runs([dst(GOLD, HASTY, STURDY, profile="trade", resamples=5)])[0].result
    lead = page.build(open_runs([tracking_run, user])).lead[1:]
    points = [[float(number) for number in re.findall(r"([\d.]+) points", line)] for line in lead]
    assert {type(line) for line in lead} == {str}  # what the page encodes
    told = [size for line in points for size in line]
    assert told
    assert max(told) == told[0]
    assert all(line == sorted(line, reverse=True) for line in points)
    starts = [max(line) for line in points if line]
    assert starts == sorted(starts, reverse=True)


def _same(rows: pl.DataFrame) -> pl.DataFrame:
    return rows


@pytest.mark.parametrize("number", [2, 3])
def test_a_metric_that_differs_most_is_told_beside_the_usual_ones(number: int) -> None:
    """The summary speaks of the slot error rate, in which these systems are alike."""
    main = Metric("ser", "Slot error rate", better="lower", headline=True)
    other = Metric("nohf", "No hallucination", headline=True)
    made = []
    for name, right in list({"a": 150, "b": 20, "c": 22}.items())[:number]:
        one, two = made_up(name, main, 100), made_up(name, other, right)
        rows = one.rows().vstack(two.rows())
        made.append(
            replace(one, scores=[*one.scores, *two.scores], metrics=[main, other], make_rows=partial(_same, rows))
        )
    lead = page.build(open_runs(made)).lead[1:]
    first = "b is 65.0 points below a in no hallucination, beyond noise; no difference shown in slot error rate ("
    assert lead[0].startswith(first if number == 2 else "Best in no hallucination: a (75.0%), ahead of all others")


def test_best_values_are_bold(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["dst"]))
    grid = grids(made)["metrics"]
    names = {row[0]: place for place, row in enumerate(grid.rows)}
    bold = {name: [column for row, column in grid.best if row == place] for name, place in names.items()}
    assert bold["Joint goal accuracy"] == [1]
    assert bold["Turn match"] == [2]
    assert bold["FGA, λ = 0.5"] == [1, 2]  # no difference is shown


def test_a_run_against_itself_differs_in_nothing(runs: dict[str, str], tmp_path: Path) -> None:
    twin = tracked(tmp_path / "again", "--by", "service")
    made = page.build(sources(runs["dst"], twin))
    assert made.systems == ["dst:sturdy", "again:sturdy", "dst:hasty", "again:hasty"]
    assert set(marked(made, "dst:hasty")["jga"].values()) == {"b", "=", "-"}
    assert marked(made, "dst:hasty")["jga"]["again:hasty"] == "="
    line = "Best in joint goal accuracy: dst:sturdy (55.4%, over turns); no difference from it shown for again:sturdy ("
    assert next(one for one in made.lead if one.startswith(line)).endswith(").")


def test_no_difference_shown_comes_with_its_interval(runs: dict[str, str], tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        run("dst", GOLD, f"{name}={HASTY}", "--metrics", "jga,turn_match", "--out", str(tmp_path / name))
        paths.append(str(tmp_path / name))
    (line,) = page.build(sources(*paths)).lead[1:]
    assert re.fullmatch(
        r"b and a: no difference shown in joint goal accuracy \(-\d+\.\d … \+\d+\.\d\) and turn match \(.* … .*\)\.",
        line,
    )


@pytest.mark.parametrize("profile", ["dst", "sgd"])
def test_the_curve_over_lambda_runs_through_the_scores(runs: dict[str, str], profile: str) -> None:
    (source,) = sources(runs[profile])
    rows = charts(page.build([source]))["fga"].rows
    rates = {0.0: "jga", 0.25: "fga@0.25", 0.5: "fga@0.5", 0.75: "fga@0.75", 1.0: "fga@1"}
    assert len(source.systems) == 2
    for one in source.systems:
        scores = [(rate, one.score(name)) for rate, name in rates.items()]
        expected = [(rate, score.value, score.low, score.high) for rate, score in scores if score]
        assert [tuple(row[1:5]) for row in rows if row[0] == one.name] == expected


def test_rows_by_service_are_the_scores_by_service(runs: dict[str, str], tmp_path: Path) -> None:
    """The same value and the same interval, whether the run was asked for services or not."""
    (plain,) = sources(runs["sgd"])
    (asked,) = sources(tracked(tmp_path / "by", "--by", "service", profile="sgd"))
    given = tracking.by_service(system(asked, "hasty"))
    hasty = system(plain, "hasty")
    assert estimate_groups(hasty.rows("jga"), "service") == tracking.by_service(hasty)
    for service, one in tracking.by_service(hasty).items():
        assert one.value == pytest.approx(given[service].value)
        assert (one.low, one.high, one.n) == pytest.approx((given[service].low, given[service].high, given[service].n))


def test_turn_units_have_services_from_their_dialogues(runs: dict[str, str], tmp_path: Path) -> None:
    (asked,) = sources(runs["dst"])
    (plain,) = sources(tracked(tmp_path / "plain"))
    given, found = (tracking.by_service(system(source, "sturdy")) for source in (asked, plain))
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {name: one.value for name, one in given.items()}
    )


def test_mistakes_by_slot_and_kind(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["dst"]))
    chart = charts(made)["slots"]
    assert (chart.fields, chart.panel) == (["system", "slot", "kind", "mistakes", "turns wrong"], "system")
    # 25 of the service's 80 frames: what --by slot gives as 68.75%.
    worst = [row for row in chart.rows if row[:2] == ["hasty", "Stays_1.hotel_name"]]
    assert worst == [
        ["hasty", "Stays_1.hotel_name", "missed", 3, 25],
        ["hasty", "Stays_1.hotel_name", "wrong", 3, 25],
        ["hasty", "Stays_1.hotel_name", "stale", 2, 25],
    ]
    assert set(chart.colours) == set(explorer.KINDS)


def test_profiles_stand_side_by_side(tmp_path: Path) -> None:
    run("dst", GOLD, HASTY, "--profiles", "sgd,trade,mwzeval", "--out", str(tmp_path / "run"))
    made = page.build(sources(str(tmp_path / "run")))
    assert [entry.system for entry in made.cards[0].entries] == ["hasty"]
    chart = charts(made)["profiles-hasty"]
    assert {row[0] for row in chart.rows} == {"sgd", "trade", "mwzeval"}
    assert {row[1] for row in chart.rows} == {"Joint goal accuracy", "FGA, λ = 0.5", "Average goal accuracy"}


# -- the other kinds ---------------------------------------------------------------------------------------------------


def test_robustness(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["user"], runs["schema"]))
    user, schema = made.cards
    assert user.metric == "cJGA under SDI"
    assert user.entries[0].sentence.startswith(
        "Of what it gets right with or without SDI (hesitations and repetitions)"
    )
    assert schema.entries[0].sentence == (
        "Right in 72% of frames on average over 3 wordings, 66% under the original schema."
    )
    found = charts(made)
    assert {"before-after", "cjga", "flips", "wordings", "sensitivity"} <= found.keys()
    flips = {row[2]: row[3] for row in found["flips"].rows}
    findings = sources(runs["user"])[0].result.findings
    assert int(flips["right only before"] or 0) == sum(flip.right == "before" for flip in findings)
    assert int(flips["right only after"] or 0) == sum(flip.right == "after" for flip in findings)
    assert [row[2] for row in found["wordings"].rows] == ["original", "v1", "v2", "v3"]
    assert {row[1] for row in found["sensitivity"].rows} == {"Sights_1", "Stays_1", "Trains_1"}


def test_every_jga_says_what_it_is_over(runs: dict[str, str]) -> None:
    """The runs of state tracking and of CheckDST are over turns here, that of SGD-X over frames: JGA differs."""
    made = page.build(sources(runs["dst"], runs["user"], runs["schema"]))
    tracking_card, user, schema = made.cards
    assert tracking_card.about == "share of turns whose whole state is right"
    assert "JGA over turns goes from 33.3 to 55.4." in user.entries[0].sentence
    assert "of frames on average" in schema.entries[0].sentence
    found = charts(made)
    assert found["before-after"].x_title == "JGA over turns"
    assert found["wordings"].y_title == "Joint goal accuracy over frames"
    assert found["turns-jga"].y_title == "Joint goal accuracy over turns"
    tables = grids(made)
    assert "JGA and cJGA are over turns." in tables["checkdst"].note
    notes = dict(zip([row[0] for row in tables["sgdx"].rows], tables["sgdx"].notes, strict=True))
    assert notes["JGA, original schema"].startswith("share of frames whose")


def test_where_values_match_in_part_checkdst_says_that_units_are_right_or_wrong() -> None:
    result = checkdst_task((GOLD, HASTY), {"SDI": (GOLD, STURDY)}, profile="sgd", resamples=5, name="tracker")
    made = page.build(open_runs([result]))
    assert "JGA over frames that are right or wrong goes from" in made.cards[0].entries[0].sentence


@pytest.mark.shared
def test_jga_over_other_units_does_not_go_from_one_to_the_other(shared: Path) -> None:
    """In the authors' example, the original set has 100 turns and the paraphrased one 30."""
    name = "data/checkdst/ckpt_step928_multiwoz_checkdst-{}_example.checkdst_prediction.jsonl"
    result = checkdst_task(shared / name.format("orig"), {"PI": shared / name.format("PI")}, resamples=5)
    sentence = page.build(open_runs([result])).cards[0].entries[0].sentence
    assert "JGA over turns is 36.0 (n = 100) on the original set and 36.7 (n = 30) on the other." in sentence


def test_systems_of_one_run_stand_side_by_side() -> None:
    originals = {"hasty": (GOLD, HASTY), "sturdy": (GOLD, STURDY)}
    twins = {name: {"SDI": (GOLD, demo.path(f"twins/{name}-SDI.jsonl"))} for name in originals}
    worded = {name: {"v1": HASTY, "v2": STURDY, "orig": pred} for name, (_, pred) in originals.items()}
    worded["sturdy"]["v1"] = STURDY
    user = checkdst_task(originals, twins, profile="trade", resamples=20)
    schema = sgdx_task(GOLD, worded, profile="trade", resamples=20)
    made = page.build(open_runs([user, schema]))
    assert [[entry.system for entry in card.entries] for card in made.cards] == [["sturdy", "hasty"]] * 2
    rows = {(row[0], row[1]): row for row in grids(made)["checkdst"].rows}
    assert rows["SDI", "hasty"] != rows["SDI", "sturdy"]
    counted = {(row[0], row[2]): row[3] for row in charts(made)["flips"].rows}
    assert counted["hasty", "right only before"] == 15
    assert counted["sturdy", "right only before"] == 4
    wavering = [block for block in made.sections[0].blocks if isinstance(block, Examples)][1]
    assert {item.group for item in wavering.items} == {"hasty"}  # sturdy's two wordings are the same
    assert all(item.pieces for item in wavering.items)
    assert marked(made, "hasty")["cjga:SDI"]["sturdy"] == "b"


def test_checkpoints_make_curves(tmp_path: Path) -> None:
    paths = [perturbed(tmp_path / f"epoch{step}") for step in (10, 20)]
    chart = charts(page.build(sources(*reversed(paths))))["checkpoints"]
    assert [row[1] for row in chart.rows if row[0] == "Joint goal accuracy"] == [10, 20]


@pytest.mark.parametrize(
    ("text", "twin", "expected"),
    [
        ("a b c", "a b c", [("a b c", "")]),
        ("go to nandos .", "go to ec sni.", [("go to ", ""), ("nandos ", "-"), ("ec sni", "+"), (".", "")]),
        ("yes", "well, yes", [("well, ", "+"), ("yes", "")]),
        ("", "a", [("a", "+")]),
    ],
)
def test_changed_words(text: str, twin: str, expected: list[tuple[str, str]]) -> None:
    assert [(piece.text, piece.mark) for piece in checkdst.mark_changes(text, twin)] == expected


def test_responses(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["nlg"]))
    (card,) = made.cards
    assert card.metric == "SGSAcc"
    assert [entry.system for entry in card.entries] == ["whole", "half"]
    marks = marked(made, "whole")
    assert marks["sgsacc"]["half"] == "w"
    found = charts(made)
    assert {"sgsacc-act", "ser-act", "sgsacc-slot", "ser-slot"} <= found.keys()
    assert {row[2] for row in found["lost"].rows} <= {"dropped", "contradicted"}
    assert marks["ser"]["half"] == "w"  # more errors are worse, not better


def test_grounding(runs: dict[str, str]) -> None:
    made = page.build(sources(runs["ground"]))
    (card,) = made.cards
    assert card.percent is False
    assert "People found 50% of them supported." in card.entries[0].facts
    assert made.lead == ["Grounding on 24 responses."]
    assert made.explorer.startswith("Runs of troth ground")
    chart = charts(made)["scores-nli"]
    assert {row[1] for row in chart.rows} == set(grounding.LABELS.values())
    for label in grounding.LABELS.values():
        assert sum(float(row[3] or 0) for row in chart.rows if row[1] == label) == pytest.approx(1.0)


def test_a_difference_that_is_no_share_is_not_in_points(tmp_path: Path) -> None:
    files = []
    for name, said in (("true", "The lighthouse was built in 1838."), ("false", "Bananas grow on Mars.")):
        files.append(tmp_path / f"{name}.jsonl")
        rows = [
            {
                "id": str(number),
                "document": f"The lighthouse was built in 1838. Room {number} is open.",
                "response": said,
            }
            for number in range(24)
        ]
        files[-1].write_text("\n".join(map(json.dumps, rows)))
    run("ground", *map(str, files), "--metrics", "nli", "--nli", "fake", "--no-cache", "--out", str(tmp_path / "run"))
    made = page.build(sources(str(tmp_path / "run")))
    true, false = made.cards[0].entries
    assert true.value is not None
    assert false.value is not None
    size = f"{true.value - false.value:.3f}"
    assert f"false is {size} below true in entailment, beyond noise." in " ".join(made.lead)


def test_words_that_nothing_supports() -> None:
    response = explorer.ResponseView("s", "1", "It was built in 1838.", " It was built in 1938,\nthey say.", ("When?",))
    pieces = grounding.mark_unsupported(response)
    assert "".join(piece.text for piece in pieces) == response.text
    marked = [word.text for word in judge_words(response.document, response.text) if word.support == "unsupported"]
    assert [piece.text for piece in pieces if piece.mark] == marked
    assert "1938," in marked


def test_every_chart_has_its_data(runs: dict[str, str]) -> None:
    found = charts(page.build(sources(*runs.values())))
    assert len(found) > 15
    for chart in found.values():
        assert chart.rows
        assert all(len(row) == len(chart.fields) for row in chart.rows)
        for field in (chart.x, chart.y, chart.series, chart.low, chart.high, chart.label):
            assert not field or field in chart.fields


# -- old runs, and runs that say nothing -------------------------------------------------------------------------------


def without_dialogues(path: str, out: Path) -> str:
    """The run without its dialogues."""
    out.mkdir()
    for name in ("run.json", "rows.parquet"):
        (out / name).write_bytes((Path(path) / name).read_bytes())
    return str(out)


@pytest.mark.parametrize("kind", ["dst", "user", "schema", "nlg", "ground"])
def test_a_run_without_dialogues_has_a_page(runs: dict[str, str], tmp_path: Path, kind: str) -> None:
    found = sources(without_dialogues(runs[kind], tmp_path / "run"))
    made = page.build(found)
    assert made.cards
    assert made.explorer
    assert pack(found).block() == ""
    assert kind not in ("dst", "nlg") or any(
        isinstance(block, Text) and "again" in block.text for section in made.sections for block in section.blocks
    )


def test_a_run_of_nothing_that_is_shown(runs: dict[str, str], tmp_path: Path) -> None:
    path = Path(without_dialogues(runs["dst"], tmp_path / "odd"))
    text = (path / "run.json").read_text().replace('"command": "dst"', '"command": "other"')
    (path / "run.json").write_text(text)
    reseal(path)
    with pytest.raises(
        UserError, match=r"nothing to show in runs of: other .give runs of: agent score, .*dst, .*ground"
    ):
        page.build(sources(str(path)))


# -- the dialogues in the page -----------------------------------------------------------------------------------------


def unpack(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def state(data: Any, entries: list[int]) -> set[tuple[str, ...]]:
    return {tuple(data["texts"][place] for place in data["entries"][entry]) for entry in entries}


@pytest.mark.parametrize("kind", ["dst", "sgd", "user"])
def test_packed_dialogues_are_the_kept_ones(runs: dict[str, str], kind: str) -> None:
    (source,) = sources(runs[kind])
    data = unpack(pack([source]).block())
    for raw, one in zip(data["dialogues"], source.result.explorer().dialogues, strict=True):
        assert (data["sets"][raw[0]], raw[1]) == (one.set, one.id)
        assert [said[1] for said in raw[3]] == [said.text for said in one.utterances]
        golds = [said for said in raw[3] if said[2] >= 0]
        for (_, turns, _), track in zip(raw[4], one.tracks, strict=True):
            for packed_turn, gold, turn in zip(turns, golds, track.tracked, strict=True):
                predicted = state(data, gold[4])
                if packed_turn:
                    predicted = (predicted | state(data, packed_turn[0][0])) - state(data, packed_turn[0][1])
                wanted = {
                    (service, slot, *values)
                    for service, slots in (turn.state or {}).items()
                    for slot, values in slots.items()
                }
                assert predicted == wanted
                wrong = [unit for unit in turn.units if unit.joint != 1.0]
                assert [unit[2] for unit in (packed_turn[1] if packed_turn else [])] == [
                    -1 if unit.blamed is None else unit.blamed for unit in wrong
                ]


def test_runs_on_the_same_dialogues_are_merged(runs: dict[str, str]) -> None:
    data = unpack(pack(sources(runs["dst"], runs["nlg"])).block())
    assert len(data["dialogues"]) == 22
    assert data["systems"] == ["hasty", "sturdy", "whole", "half"]
    assert all(len(raw[4]) == 4 for raw in data["dialogues"])


@pytest.mark.parametrize(("name", "beside"), [("hasty", []), ("sturdy", ["sturdy (user)"])])
def test_a_name_in_runs_of_two_commands_is_one_system(
    runs: dict[str, str], tmp_path: Path, name: str, beside: list[str]
) -> None:
    """Unless it has other verdicts on the same dialogues: then both are shown."""
    user = str(tmp_path / "user")
    pair = f"{GOLD},{HASTY}"
    run("robust", "checkdst", pair, f"SDI={pair}", "--name", name, "--profile", "trade", "--out", user)
    found = sources(runs["dst"], user)
    assert page.build(found).systems == ["sturdy", "hasty"]
    assert unpack(pack(found).block())["systems"] == ["hasty", "sturdy", *beside]


def test_story_of_several_parts(runs: dict[str, str]) -> None:
    """Each line says what it is about; with one part there is no need."""
    told = page.build(sources(runs["dst"], runs["nlg"])).lead
    assert [line.partition(":")[0] for line in told[1:]] == ["Responses", "State tracking"]
    assert page.build(sources(runs["dst"])).lead[1].startswith("sturdy is 22.0 points above hasty")


def test_few_responses_share_a_reliability_curve() -> None:
    few = [(0.1, 0)] * 5 + [(0.9, 1)] * 4 + [(0.95, 0)]
    assert list(grounding._curve(few)) == [(0.1, 0.0, 5), (pytest.approx(0.91), 0.8, 5)]
    many = [(0.84, 1)] * 60 + [(0.92, 0)] * 60
    assert list(grounding._curve(many)) == [(0.84, 1.0, 60), (0.92, 0.0, 60)]


def test_other_texts_under_the_same_id_are_a_set_of_their_own(runs: dict[str, str], tmp_path: Path) -> None:
    twin = perturbed(tmp_path / "other")
    found = sources(runs["dst"], twin)
    changed = [one for one in found[1].result.explorer().dialogues if one.set == "SDI"]
    renamed = [explorer.DialogueView(one.id, one.utterances, one.tracks, "", one.services) for one in changed]
    result = replace(found[1].result, make_explorer=lambda: explorer.Archive(dialogues=renamed))
    data = unpack(pack([found[0], replace(found[1], result=result, name="other")]).block())
    assert data["sets"] == ["", "other"]
    assert len(data["dialogues"]) == 44
