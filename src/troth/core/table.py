"""One table, many forms: plain text, Markdown, LaTeX (booktabs), CSV."""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from troth.core.errors import UserError
from troth.core.metric import Scale
from troth.core.score import Score

LATEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--"}
)  # fmt: skip
FORMULA = tuple("=+-@＝＋－＠")  # how a cell begins that spreadsheets would run
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # what turns letters round

_FIGURE = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?(( ± ?| … | → )[+-]?[\d.]+(e[+-]?\d+)?)*")


def harmless(cell: str) -> str:
    """What a spreadsheet would take for a formula begins with an apostrophe, and is text. Controls are shown."""
    cell = "".join(
        repr(c)[1:-1] if c in BIDI or (unicodedata.category(c) == "Cc" and c not in "\n\t") else c for c in cell
    )
    return f"'{cell}" if cell[:1] in ("\n", "\t") or cell.lstrip().startswith(FORMULA) else cell


def one_line(cell: str) -> str:
    """Text from files may hold line breaks, which would break the table."""
    return " ".join(cell.replace("\t", " ").splitlines())


@dataclass(frozen=True)
class Table:
    """Text cells under a heading each; the first `labels` columns are words, the rest figures."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    best: frozenset[tuple[int, int]] = frozenset()  # cells (row, column) that are best or tie with the best

    def plain(self) -> str:
        """Aligned text for a pipe or a log."""
        lines = [[one_line(cell) for cell in line] for line in (self.columns, *self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i < self.labels else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"

        rule = ["---" if i < self.labels else "---:" for i in range(len(self.columns))]
        return "\n".join(
            [line(self.columns), line(rule), *(line(self._marked(r, "**{}**")) for r in range(len(self.rows)))]
        )

    def latex(self) -> str:
        """booktabs; best in bold, with whatever is within its interval."""
        kinds = "l" * self.labels + "r" * (len(self.columns) - self.labels)
        rows = [
            [_latex(cell) if (r, c) not in self.best else rf"\textbf{{{_latex(cell)}}}" for c, cell in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]  # fmt: skip
        body = "\n".join(" & ".join(row) + r" \\" for row in rows)
        head = " & ".join(map(_latex, self.columns)) + r" \\"
        return "\n".join(
            [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", body, r"\bottomrule", r"\end{tabular}"]
        )

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for line in (self.columns, *self.rows):
            writer.writerow(cell if _FIGURE.fullmatch(cell) else harmless(cell) for cell in line)
        return out.getvalue().rstrip("\n")

    def html(self) -> str:
        """A plain HTML table; the best cells in bold."""
        head = "".join(f"<th>{html.escape(one_line(cell))}</th>" for cell in self.columns)
        rows = [
            "".join(
                f"<td><b>{html.escape(one_line(cell))}</b></td>"
                if (r, c) in self.best
                else f"<td>{html.escape(one_line(cell))}</td>"
                for c, cell in enumerate(row)
            )
            for r, row in enumerate(self.rows)
        ]
        return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def write(self, form: str) -> str:
        forms = {"plain": self.plain, "markdown": self.markdown, "latex": self.latex, "csv": self.csv}
        if form not in forms:
            raise UserError(f"no table is written as '{form}'", hint="one of: " + ", ".join(forms))
        return forms[form]()

    def _marked(self, row: int, mark: str) -> list[str]:
        return [mark.format(cell) if (row, c) in self.best else cell for c, cell in enumerate(self.rows[row])]


def _latex(cell: str) -> str:
    return one_line(cell).translate(LATEX)


def tidy(scores: Sequence[Score]) -> str:
    """CSV for further work: one line a score, unrounded fractions."""
    fields = ("system", "metric", "group", "value", "low", "high", "n", "signature")
    cells = [[getattr(score, field) for field in fields] for score in scores]
    text = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in cells)
    return Table(fields, text).csv()


def percent(value: float | None, digits: int = 2) -> str:
    # Rounded first: a zero has no sign.
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def number(value: float | None, scale: Scale = "share") -> str:
    """A share in percent, a p-value with four digits, any other number with three."""
    if value is None or scale == "share":
        return percent(value)
    digits = DIGITS[scale]
    return f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float, scale: Scale = "share") -> str:
    """A difference: of shares in points."""
    return f"{100 * value:+.2f}" if scale == "share" else f"{value:+.{DIGITS[scale]}f}"


DIGITS: dict[Scale, int] = {"number": 3, "p": 4}
HEADLINE = ("jga", "aga", "fga@0.5", "turn_match")  # what a table by service, slot or turn shows


def of_scores(scores: Sequence[Score], *, intervals: bool = True, headline: Sequence[str] = HEADLINE) -> list[Table]:
    """Scores laid out for reading: all, seen and unseen together, then a table for each further kind of group.

    Shares in percent, other numbers as they are, with the half-width of the interval. With several systems the ones
    are marked that no other beats beyond noise: their interval reaches the best value.
    """
    main = [score for score in scores if score.group in ("all", "seen", "unseen")]
    made = [_wide(main, intervals)] if main else []
    kinds = dict.fromkeys(s.group.partition(":")[0] for s in scores if ":" in s.group)
    for kind in kinds:
        chosen = [s for s in scores if s.group.startswith(f"{kind}:")]
        if headline and len({s.metric for s in chosen}) > len(headline):
            # Trackers' headline metrics; a run of other metrics has none of them.
            chosen = [s for s in chosen if s.metric in headline] or chosen
        made.append(_long(chosen, kind, intervals))
    return made


def _wide(scores: Sequence[Score], intervals: bool) -> Table:
    """A row a metric, a column a system (and group)."""
    heads = list(dict.fromkeys((score.system, score.group) for score in scores))
    systems = _short([system for system, _ in heads])
    grouped = len({group for _, group in heads}) > 1
    single = len({system for system, _ in heads}) == 1
    columns = [
        g if single and grouped else f"{s} {g}" if grouped else s for s, (_, g) in zip(systems, heads, strict=True)
    ]
    found = {(s.metric, s.system, s.group): s for s in scores}
    rows: list[tuple[str, ...]] = []
    best: set[tuple[int, int]] = set()
    for metric in dict.fromkeys(score.metric for score in scores):
        cells = [found.get((metric, *head)) for head in heads]
        if all(cell is None or cell.value is None for cell in cells):
            continue
        # One system under several recipes is no contest.
        for group in {group for _, group in heads} if systems == [system for system, _ in heads] else ():
            mine = [i for i, head in enumerate(heads) if head[1] == group]
            best |= {(len(rows), 1 + mine[i]) for i in unbeaten([cells[i] for i in mine])}
        rows.append((metric, *(figure(cell, intervals) for cell in cells)))
    return Table(("metric", *columns), tuple(rows), 1, frozenset(best))


def _long(scores: Sequence[Score], kind: str, intervals: bool) -> Table:
    """A row a group, a column a metric (and system)."""
    heads = list(dict.fromkeys((score.metric, score.system) for score in scores))
    single = len({system for _, system in heads}) == 1
    names = dict(zip([s for _, s in heads], _short([s for _, s in heads]), strict=True))
    columns = [metric if single else f"{metric} {names[system]}" for metric, system in heads]
    found = {(s.group, s.metric, s.system): s for s in scores}
    groups = list(dict.fromkeys(score.group for score in scores))
    rows: list[tuple[str, ...]] = []
    best: set[tuple[int, int]] = set()
    for group in groups:
        cells = [found.get((group, *head)) for head in heads]
        for metric in {metric for metric, _ in heads}:
            mine = [i for i, head in enumerate(heads) if head[0] == metric]
            best |= {(len(rows), 2 + mine[i]) for i in unbeaten([cells[i] for i in mine])}
        n = next((str(cell.n) for cell in cells if cell is not None), "0")
        rows.append((group.partition(":")[2], n, *(figure(cell, intervals) for cell in cells)))
    return Table((kind, "n", *columns), tuple(rows), 1, frozenset(best))


def unbeaten(cells: Sequence[Score | None]) -> list[int]:
    """Which cells no other beats beyond noise; none where there is nothing to choose from."""
    values = [cell.value for cell in cells if cell is not None and cell.value is not None]
    if len(values) < 2 or len({cell.recipe for cell in cells if cell is not None}) > 1:
        return []  # nothing to choose from, or numbers that do not mean the same
    if any(cell.scale == "p" for cell in cells if cell is not None):
        return []  # no p-value is better than another

    def ties(cell: Score) -> bool:
        if cell.better == "lower":
            return cell.value == min(values) or (cell.low is not None and cell.low <= min(values))
        return cell.value == max(values) or (cell.high is not None and cell.high >= max(values))

    return [i for i, cell in enumerate(cells) if cell is not None and cell.value is not None and ties(cell)]


def _short(systems: Sequence[str]) -> list[str]:
    """`run:sgd run:trade` is one system under two profiles: the profile is name enough."""
    prefixes = {system.rpartition(":")[0] for system in systems}
    if len(prefixes) == 1 and len(set(systems)) > 1:
        return [system.rpartition(":")[2] for system in systems]
    return list(systems)


def figure(score: Score | None, intervals: bool = True) -> str:
    """A number with the half-width of its interval."""
    if score is None or score.value is None:
        return "–"
    if not intervals or score.low is None or score.high is None:
        return number(score.value, score.scale)
    return f"{number(score.value, score.scale)} ±{number((score.high - score.low) / 2, score.scale)}"
