"""One table, many forms: plain text, Markdown, LaTeX (booktabs), CSV."""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from troth.core.errors import UserError
from troth.core.groups import WHOLE
from troth.core.metric import PERCENT, Scale
from troth.core.score import Score

LATEX = str.maketrans(
    {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
     "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--"}
)  # fmt: skip
FORMULA = tuple("=+-@＝＋－＠")  # how a cell begins that spreadsheets would run
BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the direction of writing
DIGITS: dict[Scale, int] = {"number": 3, "p": 4}

_FIGURE = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?(( ± ?| … | → )[+-]?[\d.]+(e[+-]?\d+)?)*")


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: those begin with an apostrophe. Control characters are shown."""
    cell = "".join(
        repr(c)[1:-1] if c in BIDI or (unicodedata.category(c) == "Cc" and c not in "\n\t") else c for c in cell
    )
    return f"'{cell}" if cell[:1] in ("\n", "\t") or cell.lstrip().startswith(FORMULA) else cell


def one_line(cell: str) -> str:
    """Text without line breaks and tabs, which would break a table."""
    return " ".join(cell.replace("\t", " ").splitlines())


@dataclass(frozen=True)
class Table:
    """Text cells under a heading each; the first `labels` columns are words, the rest figures."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    best: frozenset[tuple[int, int]] = frozenset()  # cells (row, column) that are best or tie with the best
    worst: frozenset[tuple[int, int]] = frozenset()  # likewise

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
            return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"

        rule = ["---" if i < self.labels else "---:" for i in range(len(self.columns))]
        return "\n".join([line(self.columns), line(rule), *map(line, self._marked(str, "**{}**", "*{}*"))])

    def latex(self) -> str:
        """A booktabs table; the best in bold, with whatever is within its interval, and the worst underlined."""
        kinds = "l" * self.labels + "r" * (len(self.columns) - self.labels)
        rows = [list(map(_latex, self.columns)), *self._marked(_latex, r"\textbf{{{}}}", r"\underline{{{}}}")]
        head, *body = (" & ".join(row) + r" \\" for row in rows)
        return "\n".join(
            [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        )

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for line in (self.columns, *self.rows):
            writer.writerow(cell if _FIGURE.fullmatch(cell) else harmless(cell) for cell in line)
        return out.getvalue().rstrip("\n")

    def html(self) -> str:
        """A plain HTML table; the best cells in bold, the worst underlined."""
        head = "".join(f"<th>{_html(cell)}</th>" for cell in self.columns)
        rows = ["".join(f"<td>{cell}</td>" for cell in row) for row in self._marked(_html, "<b>{}</b>", "<u>{}</u>")]
        return f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def _marked(self, form: Callable[[str], str], best: str, worst: str) -> Iterator[list[str]]:
        """The rows with each cell in a form of text, and the best and worst ones marked."""
        marks = dict.fromkeys(self.worst, worst) | dict.fromkeys(self.best, best)
        for r, row in enumerate(self.rows):
            yield [marks.get((r, c), "{}").format(form(cell)) for c, cell in enumerate(row)]


def _latex(cell: str) -> str:
    return one_line(cell).translate(LATEX)


def _html(cell: str) -> str:
    return html.escape(one_line(cell))


def tidy(scores: Sequence[Score]) -> str:
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


def signed(value: float, scale: Scale = "share") -> str:
    """A difference: of shares in points."""
    return f"{100 * value:+.2f}" if scale in PERCENT else f"{value:+.{DIGITS[scale]}f}"


def bounds(low: float | None, high: float | None, scale: Scale = "share") -> str:
    """The interval of a difference."""
    return "–" if low is None or high is None else f"{signed(low, scale)} … {signed(high, scale)}"


def figure(score: Score | None, intervals: bool = True) -> str:
    """A number with the half-width of its interval."""
    if score is None or score.value is None:
        return "–"
    if not intervals or score.low is None or score.high is None:
        return number(score.value, score.scale)
    return f"{number(score.value, score.scale)} ±{number((score.high - score.low) / 2, score.scale)}"


# -- scores laid out for reading ---------------------------------------------------------------------------------------


def of_scores(scores: Sequence[Score], *, intervals: bool = True, headline: Sequence[str] = ()) -> list[Table]:
    """Scores laid out for reading: all, seen and unseen together, then a table for each further kind of group.

    Shares are in percent, other numbers as they are, with the half-width of the interval. Of several systems those are
    marked whose interval reaches the best value. `headline`: the metrics that tables by group show, if they have them.
    """
    main = [score for score in scores if score.group in WHOLE]
    tables = [_laid_out(main, "", intervals)] if main else []
    for kind in dict.fromkeys(s.group.partition(":")[0] for s in scores if ":" in s.group):
        chosen = [s for s in scores if s.group.startswith(f"{kind}:")]
        if len({s.metric for s in chosen}) > len(headline):
            chosen = [s for s in chosen if s.metric in headline] or chosen
        tables.append(_laid_out(chosen, kind, intervals))
    return tables


def _laid_out(scores: Sequence[Score], kind: str, intervals: bool) -> Table:
    """A row per metric, a column per system and group; of a kind of group, a row per group, a column per metric."""
    places = {((s.group, s.metric, s.system) if kind else (s.metric, s.group, s.system)): s for s in scores}
    heads = list(dict.fromkeys(place[1:] for place in places))
    names, parts = _short([system for _, system in heads]), dict.fromkeys(part for part, _ in heads)
    single = len({system for _, system in heads}) == 1
    columns = [
        part if single and (kind or len(parts) > 1) else f"{part} {name}" if kind
        else name if len(parts) == 1 else f"{name} {part}"
        for name, (part, _) in zip(names, heads, strict=True)
    ]  # fmt: skip
    is_contest = kind or names == [system for _, system in heads]  # one system under several recipes is none
    rows: list[tuple[str, ...]] = []
    best: set[tuple[int, int]] = set()
    for row in dict.fromkeys(place[0] for place in places):
        cells = [places.get((row, *head)) for head in heads]
        n = next((str(cell.n) for cell in cells if cell is not None), "0")
        labels = (row.partition(":")[2], n) if kind else (row,)
        if not kind and all(cell is None or cell.value is None for cell in cells):
            continue
        for part in parts if is_contest else ():
            mine = [i for i, head in enumerate(heads) if head[0] == part]
            best |= {(len(rows), len(labels) + mine[i]) for i in unbeaten([cells[i] for i in mine])}
        rows.append((*labels, *(figure(cell, intervals) for cell in cells)))
    return Table((*((kind, "n") if kind else ("metric",)), *columns), tuple(rows), 1, frozenset(best))


def unbeaten(cells: Sequence[Score | None]) -> list[int]:
    """The places of the cells whose interval reaches the best value; none where there is nothing to choose from."""
    known = {i: (cell, cell.value) for i, cell in enumerate(cells) if cell is not None and cell.value is not None}
    if len(known) < 2 or len({cell.recipe for cell in cells if cell is not None}) > 1:
        return []  # nothing to choose from, or numbers that do not mean the same
    if any(cell.scale == "p" for cell, _ in known.values()):
        return []  # no p-value is better than another
    values = [value for _, value in known.values()]

    def ties(cell: Score) -> bool:
        if cell.better == "lower":
            return cell.value == min(values) or (cell.low is not None and cell.low <= min(values))
        return cell.value == max(values) or (cell.high is not None and cell.high >= max(values))

    return [i for i, (cell, _) in known.items() if ties(cell)]


def _short(systems: Sequence[str]) -> list[str]:
    """`run:sgd run:trade` is one system under two profiles: the profile is name enough."""
    prefixes = {system.rpartition(":")[0] for system in systems}
    if len(prefixes) == 1 and len(set(systems)) > 1:
        return [system.rpartition(":")[2] for system in systems]
    return list(systems)
