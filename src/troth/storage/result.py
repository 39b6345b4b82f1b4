"""The one result that every task returns: scores, rows, what could not be scored and why, what the explorer shows."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core import table
from troth.core.errors import UserError, near
from troth.core.metric import Metric
from troth.core.names import path_of
from troth.core.score import Score
from troth.storage import files, runs

if TYPE_CHECKING:
    import os

    import polars as pl

    from troth.stats.contests import Marked
    from troth.storage.explorer import Archive

SHOWN = 40  # lines of a result's repr


@dataclass(frozen=True, repr=False)
class Result:
    """Scores with intervals and signatures, and the units that they come from.

        result["jga"].value                 # of the first system, over everything
        result.score("jga", group="seen", system="new")
        result.frame()                      # all scores as a polars frame
        result.rows()                       # all units as a polars frame
        result.save("runs/new")             # and troth.open("runs/new")

    `rows` and `explorer` are made when they are asked for, not before.
    """

    task: str  # "dst", "robust sgdx", "nlg", …: the command that makes it
    scores: Sequence[Score]
    metrics: Sequence[Metric]
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # per system: sizes, and what was missing
    notes: Sequence[str] = ()  # what a reader should know besides
    details: Sequence[Any] = ()  # single units that a reader should see: flips, wavering units, comparisons
    arguments: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=runs.versions)
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # per system: digests of gold and schema
    make_rows: Callable[[], pl.DataFrame | pl.LazyFrame] | None = None
    make_explorer: Callable[[], Archive] | None = None

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(score.system for score in self.scores))

    @property
    def clusters(self) -> str:
        """What its intervals and tests draw: dialogues, documents or tasks."""
        if self.task.startswith("agent "):
            return "tasks"
        return "documents" if any(metric.against == "documents" for metric in self.metrics) else "dialogues"

    def score(self, metric: str, group: str = "all", system: str | None = None) -> Score:
        """One score; without `system`, the first system's."""
        wanted = system or (self.scores[0].system if self.scores else "")
        mine = [score for score in self.scores if score.system == wanted]
        if not mine:
            raise UserError(f"there is no system '{wanted}'", hint="systems: " + ", ".join(self.systems))
        for score in mine:
            if (score.metric, score.group) == (metric, group):
                return score
        groups = dict.fromkeys(score.group for score in mine if score.metric == metric)
        names = list(dict.fromkeys(score.metric for score in mine))
        hint = "groups: " + ", ".join(groups) if groups else near(metric, names) or "metrics: " + ", ".join(names)
        raise UserError(f"no score '{metric}' for group '{group}' of '{wanted}'", hint=hint)

    def __getitem__(self, metric: str) -> Score:
        return self.score(metric)

    def metric(self, name: str) -> Metric:
        """What a metric of this result is."""
        return next((one for one in self.metrics if one.name == name), None) or Metric(name, name)

    def only(self, system: str) -> Result:
        """The part of the result that is about one system."""
        import polars as pl

        return replace(
            self,
            scores=[score for score in self.scores if score.system == system],
            counts={name: counts for name, counts in self.counts.items() if name == system},
            inputs={name: digests for name, digests in self.inputs.items() if name == system},
            make_rows=lambda: self.rows().filter(pl.col("system") == system),
        )

    def frame(self) -> pl.DataFrame:
        """The scores as a polars frame, one row each."""
        import polars as pl

        fields = Score.__struct_fields__
        kinds = dict.fromkeys(("value", "low", "high"), pl.Float64) | {"n": pl.Int64}
        columns = {name: [getattr(score, name) for score in self.scores] for name in fields}
        return pl.DataFrame(columns, schema={name: kinds.get(name, pl.String) for name in fields})

    def rows(self) -> pl.DataFrame:
        """One row per unit and metric: each score is the sum of `num` over the sum of `den`."""
        import polars as pl

        return pl.DataFrame() if self.make_rows is None else self.make_rows().lazy().collect()

    def explorer(self) -> Archive:
        """Every dialogue, or every response, with what each system made of it."""
        from troth.storage.explorer import Archive, Header

        return Archive(Header()) if self.make_explorer is None else self.make_explorer()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes a run folder, whole or not at all; an older run in its place is replaced."""
        import polars as pl

        out = path_of(folder)
        run = runs.Run(
            self.task,
            dict(self.arguments),
            dict(self.versions),
            {system: dict(counts) for system, counts in self.counts.items()},
            list(self.scores),
            details=list(self.details),
            metrics=[metric.stored for metric in self.metrics],
            notes=list(self.notes),
            inputs={system: dict(digests) for system, digests in self.inputs.items()},
        )
        with files.replaced_folder(out, runs.foreign) as fresh:
            rows = self.rows() if self.make_rows is None else self.make_rows()
            write = rows.write_parquet if isinstance(rows, pl.DataFrame) else rows.sink_parquet
            write(fresh / runs.ROWS)
            run = msgspec.structs.replace(run, sha256={runs.ROWS: files.sha256(fresh / runs.ROWS)})
            (fresh / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
            if self.make_explorer is not None:
                from troth.storage import explorer

                explorer.write(fresh / explorer.NAME, self.explorer())

    def unbeaten(self) -> frozenset[Marked]:
        """The scores that are the best of several systems, or not told from it by a paired test over dialogues."""
        if len(self.systems) < 2:
            return frozenset()
        from troth.core.sums import DialogueSums
        from troth.stats import contests

        return contests.unbeaten(self.scores, contests.pairwise(self.scores, DialogueSums.of(self.rows())))

    def tables(self, *, intervals: bool = True, bold: bool = True) -> list[table.Table]:
        """The scores laid out for reading; without `bold`, no test is made of which are best."""
        headline = [metric.name for metric in self.metrics if metric.headline]
        best: frozenset[Marked] = self.unbeaten() if bold else frozenset()
        return table.of_scores(self.scores, intervals=intervals, headline=headline, best=best)

    def __repr__(self) -> str:
        head = f"troth {self.task}: {len(self.scores)} scores of {', '.join(self.systems) or 'no system'}"
        lines = "\n\n".join(one.plain() for one in self.tables(bold=False)).splitlines()
        more = [f"… {len(lines) - SHOWN} more lines: result.frame() has them all"] if len(lines) > SHOWN else []
        return "\n".join([head, *lines[:SHOWN], *more])

    def _repr_html_(self) -> str:
        """A table in a notebook."""
        return "".join([f"<p>troth {html.escape(self.task)}</p>", *(one.html() for one in self.tables())])


def check_out(out: str | os.PathLike[str]) -> str:
    """Checked before any work is done: a run can be written here, and replaces nothing but a run."""
    files.check_replaceable(path_of(out), runs.foreign)
    return path_of(out)


def open(folder: str | os.PathLike[str]) -> Result:
    """Opens a run folder that `--out` or `Result.save` wrote.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     troth.dst(demo.path("gold"), demo.path("hasty"), metrics="jga", out=f"{folder}/run")["jga"].n
    ...     troth.open(f"{folder}/run")["jga"].n
    184
    184
    """
    path = path_of(folder)
    run = runs.load(path)

    def archive() -> Archive:
        from troth.storage import explorer

        return explorer.stream(Path(path) / explorer.NAME)

    return Result(
        run.command,
        run.scores,
        run.metrics,
        run.counts,
        run.notes,
        run.details,
        run.arguments,
        run.versions,
        run.inputs,
        make_rows=lambda: runs.rows(path),
        make_explorer=archive if (Path(path) / "dialogues.jsonl.gz").is_file() else None,
    )


def written(out: str) -> str:
    """What to tell the user after a run was saved."""
    return "written: " + ", ".join(f"{out}/{name}" for name in runs.FILES[:3] if (Path(out) / name).is_file())
