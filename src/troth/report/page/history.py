"""The history of earlier runs: how each metric has moved from run to run."""

from __future__ import annotations

from collections.abc import Sequence

from troth.core.metric import PERCENT
from troth.report.page import words
from troth.report.page.model import Block, Cell, Chart, Grid, Section, Text
from troth.storage.history import HistoryEntry, RecordedScore

LEAD = (
    "Runs as they were recorded, the oldest first. Only runs that are scored by the same settings are joined by a line."
)
LISTED = 50  # runs in the table: the latest


def build_history(entries: Sequence[HistoryEntry]) -> Section | None:
    """The section with the trend of each gated metric, or of the main ones; None if there is no run."""
    if not entries:
        return None
    gated = dict.fromkeys(metric for entry in entries for metric in entry.verdicts)
    main = dict.fromkeys(name for entry in entries for name, score in entry.scores.items() if score.headline)
    metrics = list(gated) or list(main) or list(entries[-1].scores)
    shares = [metric for metric in metrics if _latest(entries, metric).scale in PERCENT]
    others = [metric for metric in metrics if metric not in shares]
    left_out = sum(
        len(_comparable(entries, metric)) < sum(metric in one.scores for one in entries) for metric in metrics
    )
    blocks: list[Block] = [
        *([_chart("trend", "Metrics, run by run", entries, shares, percent=True)] if shares else []),
        *([_chart("trend-numbers", "Other numbers, run by run", entries, others, percent=False)] if others else []),
        *(
            [Text(f"{words.count(left_out, 'metric')}: earlier runs with other settings are left out.")]
            if left_out
            else []
        ),
        _table(entries, metrics),
    ]
    return Section("history", "History", LEAD, blocks)


def _latest(entries: Sequence[HistoryEntry], metric: str) -> RecordedScore:
    return next(entry.scores[metric] for entry in reversed(entries) if metric in entry.scores)


def _comparable(entries: Sequence[HistoryEntry], metric: str) -> list[tuple[int, HistoryEntry]]:
    """The runs that have a metric by the settings of the latest one, with their numbers from 1."""
    identity = _latest(entries, metric).identity
    numbered = enumerate(entries, 1)
    return [(n, one) for n, one in numbered if metric in one.scores and one.scores[metric].identity == identity]


def _chart(id: str, title: str, entries: Sequence[HistoryEntry], metrics: Sequence[str], *, percent: bool) -> Chart:
    rows: list[list[Cell]] = []
    for metric in metrics:
        for number, entry in _comparable(entries, metric):
            score = entry.scores[metric]
            shown = score.title or metric
            rows.append(
                [entry.system, shown, number, score.value, score.low, score.high, score.n, entry.label, entry.time]
            )
    several = len(metrics) > 1
    return Chart(
        id, "lines", title, ["system", "metric", "run", "value", "low", "high", "n", "label", "time"], rows, "run",
        "value", "metric", "low", "high", x_title="run", y_title="value", percent=percent,
        note="Intervals: 95%.", panel="metric" if several else "", wide=several,
    )  # fmt: skip


def _table(entries: Sequence[HistoryEntry], metrics: Sequence[str]) -> Grid:
    numbered = list(enumerate(entries, 1))[-LISTED:]
    rows = [
        [str(number), entry.time, entry.label, entry.system, *(_cell(entry, metric) for metric in metrics)]
        for number, entry in numbered
    ]
    titles = [_latest(entries, metric).title or metric for metric in metrics]
    figures = [[n for metric in metrics for n in _numbers(entry, metric)] for _, entry in numbered]
    note = f"The latest {LISTED} of {len(entries)} runs." if len(entries) > LISTED else ""
    return Grid("runs", "Recorded runs", ["run", "time", "label", "system", *titles], rows, 4, [], note, figures)


def _cell(entry: HistoryEntry, metric: str) -> str:
    score = entry.scores.get(metric)
    if score is None:
        return "–"
    value = words.number(score.value, score.scale)
    return f"{value}, {entry.verdicts[metric]}" if metric in entry.verdicts else value


def _numbers(entry: HistoryEntry, metric: str) -> tuple[float | None, float | None, float | None]:
    score = entry.scores.get(metric)
    return (None, None, None) if score is None else (score.value, score.low, score.high)
