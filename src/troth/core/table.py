"""One table, many forms: plain text, Markdown, LaTeX (booktabs), CSV."""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from troth.core.errors import UserError
from troth.core.groups import ALL, WHOLE, Group
from troth.core.metric import PERCENT, Scale
from troth.core.score import Score

LATEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--", "…": r"\dots{}",
     "†": r"$^\dagger$", "λ": r"$\lambda$", "α": r"$\alpha$", "→": r"$\rightarrow$"}
)  # fmt: skip
MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\|`*[]"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})
FORMULA = tuple("=+-@＝＋－＠")  # how a cell begins that spreadsheets would run
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the direction of writing
DIGITS: dict[Scale, int] = {"number": 3, "p": 4}

_LINK = re.compile(
    r"(?i)(?:https?|ftp|mailto|xmpp):|www\.|@(?=[\w.-]*[a-z])"
)  # what readers of Markdown make links of, unmarked
_FIGURE = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?(( ± ?| … | → | \()[+-]?[\d.]+(e[+-]?\d+)?)*\)?")


def escape_formula(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula: it gets an apostrophe. Control characters are shown."""
    cell = "".join(
        repr(c)[1:-1] if c in BIDI or (unicodedata.category(c) == "Cc" and c not in "\n\t") else c for c in cell
    )
    return f"'{cell}" if cell[:1] in ("\n", "\t") or cell.lstrip().startswith(FORMULA) else cell


def one_line(cell: str) -> str:
    """Text without line breaks and tabs, which would break a table."""
    return " ".join(cell.replace("\t", " ").splitlines())


@dataclass(frozen=True)
class Table:
    """Text cells with headings; the first `labels` columns are words, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    best: frozenset[tuple[int, int]] = frozenset()  # cells (row, column) that are best or tie with the best
    worst: frozenset[tuple[int, int]] = frozenset()  # likewise
    comments: tuple[str, ...] = ()  # for whoever edits the LaTeX: signatures

    def write(self, form: str) -> str:
        """The table as "plain", "markdown", "latex" or "csv"."""
        forms = {"plain": self.plain, "markdown": self.markdown, "latex": self.latex, "csv": self.csv}
        if form not in forms:
            raise UserError(f"no table is written as '{form}'", hint="one of: " + ", ".join(forms))
        return forms[form]()

    def plain(self) -> str:
        """Aligned text for a pipe or a log."""
        lines = [[one_line(cell) for cell in line] for line in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        pads = [str.ljust if i < self.labels else str.rjust for i in range(len(widths))]
        return "\n".join(
            "  ".join(pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=True)).rstrip()
            for line in lines
        )

    def markdown(self) -> str:
        def line(cells: Iterable[str]) -> str:
            return "| " + " | ".join(cells) + " |"

        rule = ["---" if i < self.labels else "---:" for i in range(len(self.columns))]
        rows = self._mark(escape_markdown, "**{}**", "*{}*")
        return "\n".join([line(map(escape_markdown, self.columns)), line(rule), *map(line, rows)])

    def latex(self) -> str:
        """A booktabs table; the best in bold, the worst underlined, and comments above it."""
        kinds = "l" * self.labels + "r" * (len(self.columns) - self.labels)
        rows = [list(map(_latex, self.columns)), *self._mark(_latex_cell, r"\textbf{{{}}}", r"\underline{{{}}}")]
        head, *body = (" & ".join(row) + r" \\" for row in rows)
        comments = [f"% {_clean_cell(comment)}" for comment in self.comments]
        begin, end = rf"\begin{{tabular}}{{{kinds}}}", r"\end{tabular}"
        return "\n".join([*comments, begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end])

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for line in (self.columns, *self.rows):
            writer.writerow(cell if _FIGURE.fullmatch(cell) else escape_formula(cell) for cell in line)
        return out.getvalue().rstrip("\n")

    def html(self) -> str:
        """A plain HTML table; the best cells in bold, the worst underlined."""
        head = "".join(f"<th>{_html(cell)}</th>" for cell in self.columns)
        rows = ["".join(f"<td>{cell}</td>" for cell in row) for row in self._mark(_html, "<b>{}</b>", "<u>{}</u>")]
        return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def _mark(self, form: Callable[[str], str], best: str, worst: str) -> Iterator[list[str]]:
        """The rows with each cell in a form of text, and the best and worst ones marked."""
        marks = dict.fromkeys(self.worst, worst) | dict.fromkeys(self.best, best)
        for r, row in enumerate(self.rows):
            yield [marks.get((r, c), "{}").format(form(cell)) for c, cell in enumerate(row)]


def _latex(cell: str) -> str:
    return _clean_cell(cell).translate(LATEX)


def _latex_cell(cell: str) -> str:
    """A cell; an interval stands small after its number, with a digit less."""
    if isinstance(cell, Figure) and cell.low:
        return rf"{_latex(cell.value)} {{\scriptsize [{_latex(cell.low)}, {_latex(cell.high)}]}}"
    return _latex(cell)


def escape_markdown(cell: str) -> str:
    """Text that Markdown shows as it is: no HTML, no links or pictures, and no end of a cell."""
    text = " ".join(_clean_cell(cell).split()).translate(MARKDOWN)
    return _LINK.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], text)


def _clean_cell(cell: str) -> str:
    """Text on one line without control characters and marks that change the direction of writing."""
    return "".join(c for c in one_line(cell) if c not in BIDI and unicodedata.category(c) not in ("Cc", "Cs"))


def _html(cell: str) -> str:
    return html.escape(one_line(cell))


def scores_csv(scores: Sequence[Score]) -> str:
    """CSV for further work: one line per score, with unrounded fractions."""
    fields = ("system", "metric", "group", "value", "low", "high", "n", "signature")
    cells = [[getattr(score, field) for field in fields] for score in scores]
    text = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in cells)
    return Table(fields, text).csv()


def percent(value: float | None, digits: int = 2) -> str:
    # Rounded first: a zero has no sign.
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def number(value: float | None, scale: Scale = "share") -> str:
    """A share in percent, a p-value with four digits, any other number with three."""
    if value is None or scale in PERCENT:
        return percent(value)
    digits = DIGITS[scale]
    return f"{round(value, digits) + 0.0:.{digits}f}"


def format_difference(value: float, scale: Scale = "share") -> str:
    """A difference: of shares in points."""
    return f"{100 * value:+.2f}" if scale in PERCENT else f"{value:+.{DIGITS[scale]}f}"


def bounds(low: float | None, high: float | None, scale: Scale = "share") -> str:
    """The interval of a difference."""
    return "–" if low is None or high is None else f"{format_difference(low, scale)} … {format_difference(high, scale)}"


class Figure(str):
    """A number with its interval as text, `47.16 (45.28 … 49.03)`, and its parts: in LaTeX the interval is shorter."""

    __slots__ = ("high", "low", "value")
    value: str
    low: str  # rounded to a digit less; empty where there is no interval
    high: str

    def __new__(cls, score: Score, *, interval: bool) -> Figure:
        value = number(score.value, score.scale)
        ends = [one for one in (score.low, score.high) if interval and one is not None]
        whole = len(ends) == 2
        figure = super().__new__(
            cls, f"{value} ({' … '.join(number(end, score.scale) for end in ends)})" if whole else value
        )
        figure.value = value
        figure.low, figure.high = (_round_end(end, score.scale) for end in ends) if whole else ("", "")
        return figure


def _round_end(value: float, scale: Scale) -> str:
    if scale in PERCENT:
        return percent(value, 1)
    digits = DIGITS[scale] - 1
    return f"{round(value, digits) + 0.0:.{digits}f}"


def figure(score: Score | None, intervals: bool = True) -> str:
    """A number with its interval: `47.16 (45.28 … 49.03)`."""
    return "–" if score is None or score.value is None else Figure(score, interval=intervals)


FEW_METRICS = 3  # that tables by group show, whichever they are
Place = tuple[str, str, str]  # of a score: system, metric, group


def score_tables(
    scores: Sequence[Score],
    *,
    intervals: bool = True,
    headline: Sequence[str] = (),
    best: Container[Place] = (),
    names: Mapping[str, str] | None = None,
) -> list[Table]:
    """Scores laid out for reading: all, seen and unseen together, then a table for each further kind of group.

    Shares are in percent, other numbers as they are, with the interval. `headline`: the metrics that tables by group
    show, if they have them. `best`: the scores in bold. `names`: how systems, metrics and groups are printed.
    """
    main = [score for score in scores if score.group in WHOLE]
    printed = names or {}
    tables = [_lay_out(main, "", intervals, best, printed)] if main else []
    for kind in dict.fromkeys(score.group.kind for score in scores if score.group.name):
        mine = [score for score in scores if score.group.name and score.group.kind == kind]
        if len({score.metric for score in mine}) > max(len(headline), FEW_METRICS):
            mine = [score for score in mine if score.metric in headline] or mine
        tables.append(_lay_out(mine, kind, intervals, best, printed))
    return tables


def _lay_out(
    scores: Sequence[Score], kind: str, intervals: bool, best: Container[Place], printed: Mapping[str, str]
) -> Table:
    """One row per metric and one column per system and group; for a kind of group, one row per group."""
    places: dict[tuple[str, str, str], Score] = {
        ((s.group, s.metric, s.system) if kind else (s.metric, s.group, s.system)): s for s in scores
    }
    heads = list(dict.fromkeys(place[1:] for place in places))
    parts = dict.fromkeys(part for part, _ in heads)
    single = len({system for _, system in heads}) == 1
    shown = [
        (printed.get(system) or printed.get(short, short), printed.get(part, part))
        for short, (part, system) in zip(_shorten_names([system for _, system in heads]), heads, strict=True)
    ]
    columns = [
        part if single and (kind or len(parts) > 1) else f"{part} {name}" if kind
        else name if len(parts) == 1 else f"{name} {part}"
        for name, part in shown
    ]  # fmt: skip
    lines: list[tuple[tuple[str, ...], list[Score | None]]] = []
    for row in dict.fromkeys(place[0] for place in places):
        cells = [places.get((row, *head)) for head in heads]
        n = next((str(cell.n) for cell in cells if cell is not None), "0")
        if kind or any(cell is not None and cell.value is not None for cell in cells):
            name = Group.parse(row).name if kind else row
            label = printed.get(row) or printed.get(name, name)
            lines.append(((label, n) if kind else (label,), cells))
    return _table((*((kind, "n") if kind else ("metric",)), *columns), lines, intervals, best)


def system_table(
    scores: Sequence[Score],
    *,
    intervals: bool = True,
    best: Container[Place] = (),
    names: Mapping[str, str] | None = None,
) -> Table:
    """Scores as papers have them: a row per system, a column per metric and group, signatures as comments.

    `names`: how systems, metrics and groups are printed.
    """
    shown = names or {}
    cells = {(score.system, score.metric, score.group): score for score in scores}
    heads = list(dict.fromkeys((score.metric, score.group) for score in scores if score.value is not None))
    several = len({group for _, group in heads}) > 1
    columns = tuple(
        shown.get(metric, metric) + ("" if group == ALL and not several else f" {shown.get(group, group)}")
        for metric, group in heads
    )
    systems = dict.fromkeys(score.system for score in scores)
    lines = [((shown.get(system, system),), [cells.get((system, *head)) for head in heads]) for system in systems]
    comments = [line for head in heads for line in _signatures([s for s in scores if (s.metric, s.group) == head])]
    return replace(_table(("system", *columns), lines, intervals, best), comments=tuple(comments))


def _signatures(scores: Sequence[Score]) -> Iterator[str]:
    """One signature for each recipe; where systems differ in the number of units, from the least to the most."""
    for identity in dict.fromkeys(score.identity for score in scores):
        mine = [score for score in scores if score.identity == identity]
        least, most = min(score.n for score in mine), max(score.n for score in mine)
        yield mine[0].signature.replace(f"|n:{mine[0].n}", f"|n:{least}" if least == most else f"|n:{least}-{most}")


def _table(
    columns: tuple[str, ...],
    lines: Sequence[tuple[tuple[str, ...], Sequence[Score | None]]],
    intervals: bool,
    best: Container[Place],
) -> Table:
    """Labels and scores, line by line."""
    rows = tuple((*labels, *(figure(cell, intervals) for cell in cells)) for labels, cells in lines)
    bold = {
        (row, column)
        for row, (labels, cells) in enumerate(lines)
        for column, cell in enumerate(cells, len(labels))
        if cell is not None and (cell.system, cell.metric, cell.group) in best
    }
    return Table(columns, rows, 1, frozenset(bold))


def _shorten_names(systems: Sequence[str]) -> list[str]:
    """`run:sgd run:trade` is one system under two profiles, identified by the profile alone."""
    prefixes = {system.rpartition(":")[0] for system in systems}
    if len(prefixes) == 1 and len(set(systems)) > 1:
        return [system.rpartition(":")[2] for system in systems]
    return list(systems)
