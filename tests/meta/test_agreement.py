"""Sheets for people, and what comes back: who agrees with whom, and how sure that is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth import stats
from troth.core.errors import UserError
from troth.core.result import Result
from troth.core.table import escape_formula
from troth.meta.people.agreement import agree
from troth.meta.people.annotate import SheetKey, SheetRow, describe_act, draw, mark_pairs, sheet_cells, sheet_rows
from troth.meta.people.raters import RatedItem, kappa
from troth.meta.people.sheets import SGSACC_STUDY, as_csv, read_answers
from troth.stats import intervals
from troth.stats.estimates import Resampling
from troth.storage import runs as result
from troth.storage.explorer import ActView, AnswerView, DialogueView, SystemView, Utterance


def dialogue(number: int, text: str = "It has {} stars.") -> DialogueView:
    """Four turns; every fifth act is not entailed, every seventh turn fails validation."""
    said, answers = [], []
    for n in range(4 * number, 4 * number + 4):
        act = ActView(
            "Hotels_1", "INFORM", "stars", (str(n),), entailed=n % 5 != 0, excluded=None if n % 7 else "no rule"
        )
        said += [Utterance(2 * n, "USER", "Well?"), Utterance(2 * n + 1, "SYSTEM", "gold")]
        answers.append(AnswerView(2 * n + 1, text.format(n), (act, act)))  # the same act twice is one pair
    other = SystemView("other", answers=tuple(answers[:1]))
    return DialogueView(f"d{number}", tuple(said), (SystemView("mine", answers=tuple(answers)), other))


DIALOGUES = [dialogue(number) for number in range(100)]
ROWS = sheet_rows(DIALOGUES, "mine", "validated")


def key(pairs: int = 40, seed: int = 0, rows: Sequence[SheetRow] = ROWS) -> SheetKey:
    drawn = draw(rows, pairs=pairs, seed=seed)
    counts = (drawn.faithful, drawn.unfaithful)
    return SheetKey("0.2", "run", "mine", "sgsacc", "SGSACC|nli:fake", "validated", seed, *counts, drawn.rows)


def csv_sheet(pairs: Mapping[str, SheetRow]) -> bytes:
    return as_csv(SGSACC_STUDY, sheet_cells(pairs))


def rows(sheet: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sheet.decode("utf-8-sig"), newline="")))


def fill(path: Path, made: SheetKey, answer: Callable[[int, bool], str], delimiter: str = ",") -> str:
    """A sheet filled in by an annotator who is asked with the pair's number and the metric's verdict."""
    filled = rows(csv_sheet(made.pairs))
    for number, row in enumerate(filled):
        row["faithful"] = answer(number, made.pairs[row["id"]].faithful)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, filled[0].keys(), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(filled)
    return str(path)


def same(_: int, metric: bool) -> str:
    return "yes" if metric else "no"


# -- the sheet ---------------------------------------------------------------------------------------------------------


def test_half_and_half_of_valid_turns() -> None:
    made = key(41)
    assert len(made.pairs) == 41
    assert sum(one.faithful for one in made.pairs.values()) == 21
    assert all(int(one.values[0]) % 7 for one in made.pairs.values())
    valid = [n for n in range(400) if n % 7]
    assert (made.faithful, made.unfaithful) == (sum(n % 5 != 0 for n in valid), sum(n % 5 == 0 for n in valid))
    assert {one.previous for one in made.pairs.values()} == {"Well?"}
    verdicts = [one.faithful for one in made.pairs.values()]
    assert verdicts != sorted(verdicts)  # shuffled
    assert verdicts != sorted(verdicts, reverse=True)
    ending = mark_pairs(made.pairs.values())
    assert list(made.pairs)[:2] == [f"p01-{ending}", f"p02-{ending}"]


def test_the_seed_decides_and_the_order_does_not() -> None:
    assert key(seed=3) == key(seed=3, rows=ROWS[::-1])
    assert key(seed=3).pairs != key(seed=4).pairs


def test_whose_pairs() -> None:
    excluded = draw(sheet_rows(DIALOGUES, "mine", "excluded"), pairs=10)
    assert all(int(one.values[0]) % 7 == 0 for one in excluded.rows.values())
    every = draw(sheet_rows(DIALOGUES, "mine", "all"), pairs=1000)
    assert len(every.rows) == 400  # what there is, and not half and half
    assert len(draw(sheet_rows(DIALOGUES, "other", "all"), pairs=1000).rows) == 100
    silent = [dialogue(number, " ") for number in range(5)]
    assert draw(sheet_rows(silent, "mine", "all"), pairs=10) == ({}, 0, 0)


def test_the_sheet_does_not_tell_the_verdict() -> None:
    made = key()
    found = rows(csv_sheet(made.pairs))
    assert list(found[0]) == ["id", "previous turn", "utterance", "service", "act", "faithful"]
    assert all(row["faithful"] == "" for row in found)
    flipped = {id: msgspec.structs.replace(one, faithful=not one.faithful) for id, one in made.pairs.items()}
    assert csv_sheet(flipped) == csv_sheet(made.pairs)
    assert mark_pairs(flipped.values()) == mark_pairs(made.pairs.values())  # the ids do not, either
    assert [row["utterance"] for row in found] == [one.utterance for one in made.pairs.values()]


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+44 20",
        "-5",
        "@SUM(A1)",
        "\tx",
        " =cmd|'/C calc'!A0",
        "\n=1",
        "\nx",
        "\u00a0=1",
        "＝1",
        "＋1",
        "－1",
        "＠x",
    ],
)
def test_no_cell_is_a_formula(cell: str) -> None:
    assert escape_formula(cell) == "'" + cell


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("\r=1", "\\r=1"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\0b\x9b", "a\\x00b\\x9b"),
        ("yes\u202eon", "yes\\u202eon"),
        ("a\tb\nc", "a\tb\nc"),
        ("naïve \u200d 東京", "naïve \u200d 東京"),
    ],
)
def test_control_characters_are_shown(cell: str, shown: str) -> None:
    assert escape_formula(cell) == shown


ONE = next(iter(key().pairs.values()))


@given(st.text())
def test_texts_come_back_from_thecsv_sheet(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    one = msgspec.structs.replace(ONE, utterance=text)
    assert rows(csv_sheet({"p1": one}))[0]["utterance"] == escape_formula(text)


def test_every_cell_is_in_quotes() -> None:
    """A text with semicolons or tabs is one cell to spreadsheets of every country."""
    first = csv_sheet({"p1": ONE}).decode("utf-8-sig").splitlines()[1]
    assert first.count('"') == 12


@pytest.mark.parametrize(
    ("act", "slot", "values", "words"),
    [
        ("INFORM", "has_wifi", ("True",), "tells: has wifi = yes"),
        ("OFFER", "hotel_name", ("Ritz", "Savoy"), "offers: hotel name = Ritz, Savoy"),
        ("CONFIRM", "nights", ("2",), "asks to confirm: nights = 2"),
        ("REQUEST", "city", (), "asks for: city"),
        ("REQUEST", "city", ("Leeds",), "asks for: city (such as Leeds)"),
        ("INFORM_COUNT", "count", ("3",), "tells how many results there are: 3"),
        ("OFFER_INTENT", "intent", ("BookHotel",), "offers to do: book hotel"),
        ("GOODBYE", "", (), "says goodbye"),
        ("NOTIFY_FAILURE", "", (), "tells that the request failed"),
        ("SELECT", "", (), "select"),
    ],
)
def test_acts_in_words(act: str, slot: str, values: tuple[str, ...], words: str) -> None:
    assert describe_act(act, slot, values) == words


# -- what people say ---------------------------------------------------------------------------------------------------


def judge(tmp_path: Path, made: SheetKey, *annotators: Callable[[int, bool], str], delimiter: str = ",") -> Result:
    (tmp_path / "sheet.key.json").write_bytes(msgspec.json.encode(made))
    sheets = [fill(tmp_path / f"{n}.csv", made, one, delimiter) for n, one in enumerate(annotators)]
    return agree(*sheets, key=tmp_path / "sheet.key.json", resamples=200)


def values(made: Result, group: str = "all") -> dict[str, float | None]:
    return {score.metric: score.value for score in made.scores if score.group == group}


def test_everybody_agrees(tmp_path: Path) -> None:
    found = judge(tmp_path, key(), same, same, same)
    assert values(found) == {
        "accuracy:sgsacc": 1.0, "precision:sgsacc": 1.0, "recall:sgsacc": 1.0, "f1:sgsacc": 1.0, "fleiss_kappa": 1.0,
    }  # fmt: skip
    assert found.counts == {"mine": {"annotators": 3, "pairs": 40, "undecided": 0}}
    assert (found.notes, found.details) == ([], [])
    kappa = found.scores[-1]
    assert (kappa.low, kappa.high) == (None, None)
    assert kappa.interval_note is not None
    low = found.scores[0].low
    assert low is not None
    assert 0.8 < low < 1, "forty pairs do not prove perfection"
    assert found.scores[0].signature.startswith(
        "ACCURACY:SGSACC|annotators:3|of:validated|seed:0|ties:out|metric:[SGSACC"
    )


def test_figures_by_hand(tmp_path: Path) -> None:
    """20 faithful by the metric, of which people reject the first 5; 20 unfaithful, of which they take the first 2."""
    made = key()
    yes = [number for number, one in enumerate(made.pairs.values()) if one.faithful]
    no = [number for number, one in enumerate(made.pairs.values()) if not one.faithful]
    turned = {*yes[:5], *no[:2]}

    def people(number: int, metric: bool) -> str:
        return "1" if metric != (number in turned) else "0"

    found = judge(tmp_path, made, people, people, same)
    assert values(found)["accuracy:sgsacc"] == pytest.approx(33 / 40)
    assert values(found)["precision:sgsacc"] == pytest.approx(15 / 20)
    assert values(found)["recall:sgsacc"] == pytest.approx(15 / 17)
    assert values(found)["f1:sgsacc"] == pytest.approx(30 / 37)
    a, b = made.faithful, made.unfaithful
    assert values(found, "corpus")["accuracy:sgsacc"] == pytest.approx((a * 15 / 20 + b * 18 / 20) / (a + b))
    assert values(found, "corpus")["precision:sgsacc"] == pytest.approx(15 / 20)
    assert values(found, "corpus")["recall:sgsacc"] == pytest.approx(a * 15 / 20 / (a * 15 / 20 + b * 2 / 20))
    counts = [
        [3, 0] if n in set(yes) - turned else [1, 2] if n in yes else [2, 1] if n in turned else [0, 3]
        for n in range(40)
    ]
    assert values(found)["fleiss_kappa"] == pytest.approx(stats.fleiss_kappa(counts))
    kappa = found.scores[-1]
    assert kappa.low is not None
    assert kappa.high is not None
    assert kappa.value is not None
    assert kappa.low < kappa.value < kappa.high
    assert len(found.details) == 7
    assert {one.votes for one in found.details} == {(False, False, True), (True, True, False)}


def test_intervals_respect_the_strata(tmp_path: Path) -> None:
    """People call every pair faithful that the metric does, and every other one, too: recall varies by design alone."""
    made = key(60)
    found = judge(tmp_path, made, *[lambda number, metric: "yes" if metric or number % 3 == 0 else "no"] * 3)
    recall = next(score for score in found.scores if (score.metric, score.group) == ("recall:sgsacc", "all"))
    sides = [(one.faithful, one.faithful or number % 3 == 0) for number, one in enumerate(made.pairs.values())]
    num, den = [[float(m and y) for m, y in sides], [float(y) for _, y in sides]]
    owners = [(one.faithful, one.dialogue) for one in made.pairs.values()]
    order = sorted(set(owners))
    sums = [[sum(v for v, own in zip(side, owners, strict=True) if own == one) for one in order] for side in (num, den)]
    (within,) = intervals.share(*sums, strata=[int(stratum) for stratum, _ in order])
    assert (recall.low, recall.high) == pytest.approx(within[:2])


def test_kappa_is_drawn_within_strata() -> None:
    """Between strata everything differs, within them little: only the latter widens the interval."""
    items = [(("yes", "yes") if n % 10 else ("yes", "no"), f"d{n}", 1) for n in range(40)]
    items += [(("no", "no") if n % 10 else ("yes", "no"), f"e{n}", 0) for n in range(20)]
    within, across = (
        kappa([RatedItem(said, owner, stratum * use) for said, owner, stratum in items], ("yes", "no"),
              Resampling(2000), {})
        for use in (1, 0)
    )  # fmt: skip
    assert within.value == across.value
    assert within.low is not None and within.high is not None  # noqa: PT018
    assert across.low is not None and across.high is not None  # noqa: PT018
    assert within.low < (within.value or 0) < within.high
    assert within.high - within.low < across.high - across.low


def test_ties_decide_nothing(tmp_path: Path) -> None:
    found = judge(tmp_path, key(), same, lambda number, metric: same(number, metric != (number < 4)))
    assert [*map(str, found.notes)] == [f"4 undecided (ties, left out: {', '.join(list(key().pairs)[:4])})"]
    assert found.counts["mine"]["undecided"] == 4
    assert values(found)["accuracy:sgsacc"] == 1.0
    assert found.scores[0].n == 36
    assert found.scores[-1].n == 40  # kappa is over all


def test_nothing_but_ties(tmp_path: Path) -> None:
    found = judge(tmp_path, key(), same, lambda number, metric: same(number, not metric))
    assert {score.value for score in found.scores if score.metric != "fleiss_kappa"} == {None}
    assert found.counts["mine"]["undecided"] == 40


def test_one_annotator_and_one_answer(tmp_path: Path) -> None:
    alone = judge(tmp_path, key(), same)
    assert alone.scores[-1].value is None
    assert alone.scores[-1].reason == "one annotator has nobody to agree with"
    (tmp_path / "again").mkdir()
    bored = judge(tmp_path / "again", key(), *[lambda *_: "yes"] * 3)
    assert bored.scores[-1].value is None
    assert bored.scores[-1].reason == "all answers are the same"
    assert values(bored)["precision:sgsacc"] == 1.0


def test_without_the_key_people_stand_alone(tmp_path: Path) -> None:
    sheets = [fill(tmp_path / f"{n}.csv", key(), same) for n in range(2)]
    found = agree(*sheets)
    assert [score.metric for score in found.scores] == ["fleiss_kappa"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_sheets_as_spreadsheets_save_them(tmp_path: Path, delimiter: str) -> None:
    sheet = fill(
        tmp_path / "a.csv", key(), lambda n, metric: ("Yes", " TRUE ", "y")[n % 3] if metric else "N", delimiter
    )
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + Path(sheet).read_bytes() + delimiter.encode() * 5 + b"\r\n\r\n")
    assert read_answers(sheet, SGSACC_STUDY) == {id: (same(0, one.faithful),) for id, one in key().pairs.items()}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"id,faithful\np01,\n", "row 2: 'p01' is not answered (write yes or no in the column 'faithful')"),
        (b"id,faithful\np01,yes\np02,maybe\n", "row 3: 'maybe' is neither yes nor no"),
        (b"id,faithful\np01,yes\np01,no\n", "row 3: duplicate id 'p01' (remove one)"),
        (b"id,faithful\n,yes\n", "row 2: has no id"),
        (b"id,faithful\np01\n", "row 2: 1 cells under 2 headings"),
        (b"id,faithfull\np01,yes\n", "no column 'faithful' (did you mean 'faithfull'?)"),
        (b"utterance,faithful\na,yes\n", "no column 'id'"),
        (b"id,faithful\n", "no row in it"),
        (b"", "no column 'id' (is it a sheet?)"),
        (b'id,faithful\n"p01,yes\n', "line 2: unexpected end of data (is a quote not closed?)"),
        (b"id,faithful\np01,\xff\n", "line 2: not valid UTF-8 (save it as UTF-8)"),
    ],
)
def test_sheets_filled_in_badly(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_answers(str(tmp_path / "a.csv"), SGSACC_STUDY)
    assert str(error.value).startswith(f"{tmp_path}/a.csv: {told}")


def test_sheets_that_do_not_belong_together(tmp_path: Path) -> None:
    first, other = (fill(tmp_path / f"{n}.csv", key(n), same) for n in (10, 12))
    with pytest.raises(
        UserError, match=r"12\.csv: its ids are marked '\w+', those of .*10\.csv '\w+' \(do they belong"
    ):
        agree(first, other)
    lines = Path(first).read_text().splitlines(keepends=True)
    (tmp_path / "short.csv").write_text("".join(lines[:-1]))
    with pytest.raises(UserError, match=r"short\.csv: 'p10-\w+' is not in it, as in .*10\.csv"):
        agree(first, tmp_path / "short.csv")
    (tmp_path / "long.csv").write_text("".join([*lines, lines[-1].replace("p10-", "p11-")]))
    with pytest.raises(UserError, match=r"long\.csv: 'p11-\w+' is not in .*10\.csv"):
        agree(first, tmp_path / "long.csv")
    (tmp_path / "link.csv").symlink_to(first)
    for twice in (first, str(tmp_path / "link.csv"), f"{tmp_path}/../{tmp_path.name}/10.csv"):
        with pytest.raises(UserError, match="the same sheet is given twice"):
            agree(first, twice)
    (tmp_path / "key.json").write_text(json.dumps({"pairs": {}}))
    with pytest.raises(UserError, match=r"key\.json: not a sheet's key: .* \(troth meta annotate writes it"):
        agree(first, key=str(tmp_path / "key.json"))
    with pytest.raises(UserError, match="cannot be read"):
        agree(tmp_path / "nowhere.csv")


def test_a_sheet_with_another_sheets_key(tmp_path: Path) -> None:
    """As many pairs, the same numbers, but other ones."""
    sheet = fill(tmp_path / "a.csv", key(seed=1), same)
    (tmp_path / "b.key.json").write_bytes(msgspec.json.encode(key(seed=2)))
    with pytest.raises(UserError, match=r"a\.csv: its ids are marked '\w+', those of .*b\.key\.json '\w+'"):
        agree(sheet, key=str(tmp_path / "b.key.json"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"faithful": 0, "unfaithful": 0}, "20 faithful pairs drawn of 0 cannot be"),
        ({"unfaithful": 19}, "20 unfaithful pairs drawn of 19 cannot be"),
        ({"pairs": {}}, "no pair in it"),
        (
            {"pairs": dict(zip(key().pairs, key(seed=1).pairs.values(), strict=True))},
            "its pairs are not those that its ids were made for",
        ),
        ({"pairs": {"p1": ONE}}, "its pairs are not those that its ids were made for"),
    ],
)
def test_a_key_that_was_edited(tmp_path: Path, change: dict[str, object], told: str) -> None:
    sheet = fill(tmp_path / "a.csv", key(), same)
    (tmp_path / "k.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(key(), **change)))
    with pytest.raises(UserError) as error:
        agree(sheet, key=str(tmp_path / "k.json"))
    assert str(error.value) == f"{tmp_path}/k.json: {told} (take the key that was written with the sheet)"


def test_a_saved_agreement(tmp_path: Path) -> None:
    sheets = [fill(tmp_path / f"{n}.csv", key(), same) for n in range(2)]
    (tmp_path / "k.json").write_bytes(msgspec.json.encode(key()))
    made = agree(*sheets, key=tmp_path / "k.json", resamples=20, out=tmp_path / "run")
    kept = result.open(tmp_path / "run")
    assert (kept.task, list(kept.scores)) == ("meta agree", list(made.scores))
    assert kept.metric("fleiss_kappa").scale == "number"
    assert kept.metric("accuracy:sgsacc").of == "accuracy"
    rows = kept.rows()
    assert set(rows["metric"]) == {"accuracy:sgsacc", "precision:sgsacc", "recall:sgsacc", "f1:sgsacc"}
    alone = agree(*sheets, resamples=20, out=tmp_path / "alone")
    assert alone.rows().is_empty()
    with pytest.raises(UserError, match="no sheet is given"):
        agree()
