"""The one result that every task returns: scores, rows, unscored counts with reasons, and data for the explorer."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core import table
from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.registry import Registry, import_path
from troth.core.score import Score
from troth.core.version import __version__

if TYPE_CHECKING:
    import polars as pl

SHOWN = 40  # lines of a result's repr
# Saving needs the layers above this one, which are named by path and imported when they are needed, as registries do.
SAVE, PAIRWISE_BEST = "troth.storage.runs:save", "troth.stats.contests:best_scores"
PLOT = "troth.report.charts:plot_scores"
Path = str | os.PathLike[str]


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a reader of the scores should know, about one system or (with an empty name) about all."""

    text: str
    system: str = ""

    def __str__(self) -> str:
        return f"{self.system}: {self.text}" if self.system else self.text


class UnscoredCount(msgspec.Struct, frozen=True):
    """How many units of a system have no value for a metric, and why."""

    system: str
    metric: str
    reason: str
    count: int


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="finding"):
    """A single unit that a reader should see; each task has its own kinds, with different tags."""


FINDINGS: Registry[type[Finding]] = Registry(
    "finding",
    "troth.findings",
    {
        "flip": "troth.robustness.checkdst:Flip",
        "varying unit": "troth.robustness.sgdx:VaryingUnit",
        "act": "troth.responses.explorer:JudgedAct",
        "missed goal": "troth.responses.multiwoz.score:MissedGoal",
        "lost list": "troth.meta.trials.rerank:LostList",
        "rejected gold": "troth.meta.trials.templates:RejectedGold",
        "disagreement": "troth.meta.people.agreement:Disagreement",
        "agent": "troth.agents.findings:AgentFinding",
        "rewording": "troth.agents.live.summary:RewordingEffect",
        "missed pair": "troth.meta.trials.stress:MissedPair",
        "metric difference": "troth.meta.labels.measures:MetricDifference",
        "rating difference": "troth.meta.people.ratings:RatingDifference",
    },
)


def notes_of(system: str, texts: Iterable[str]) -> list[Note]:
    """Notes about one system."""
    return [Note(text, system) for text in texts]


def package_versions() -> dict[str, str]:
    """The versions of troth, of Python, and of the packages that scores depend on."""
    from importlib.metadata import version

    packages = ("msgspec", "numpy", "polars", "rapidfuzz")
    return {"troth": __version__, "python": sys.version.split()[0], **{name: version(name) for name in packages}}


@dataclass(frozen=True, repr=False)
class Result:
    """Scores with intervals and signatures, and the units that they come from.

        result["jga"].value                 # of the first system, over everything
        result.score("jga", group="seen", system="new")
        result.frame()                      # all scores as a polars frame
        result.rows()                       # all units as a polars frame
        result.findings                     # single units that a reader should see
        result.plot("jga,aga")              # as a chart
        result.save("runs/new")             # and troth.open("runs/new")

    `rows` and `explorer` are made when they are asked for, not before.
    """

    task: str  # "dst", "robust sgdx", "nlg", …: the command that makes it
    scores: Sequence[Score]
    metrics: Sequence[Metric]
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # per system: sizes, and what was missing
    notes: Sequence[Note] = ()
    findings: Sequence[Any] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)  # of the packages; empty: those of this process
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # per system: digests of gold and schema
    cluster: str = "dialogue"  # what intervals and tests resample: "dialogue", "document" or "task"
    unscored: Sequence[UnscoredCount] = ()
    make_rows: Callable[[], pl.DataFrame | pl.LazyFrame] | None = None
    make_explorer: Callable[[], Any] | None = None  # an `Archive` of troth.storage.explorer

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(score.system for score in self.scores))

    @property
    def clusters(self) -> str:
        """What intervals and tests resample, in the plural: dialogues, documents or tasks."""
        return f"{self.cluster}s"

    @property
    def details(self) -> Sequence[Any]:
        """The findings, under their former name."""
        return self.findings

    def score(self, metric: str, group: str = ALL, system: str | None = None) -> Score:
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
        hint = (
            "groups: " + ", ".join(groups) if groups else suggest_name(metric, names) or "metrics: " + ", ".join(names)
        )
        raise UserError(f"no score '{metric}' for group '{group}' of '{wanted}'", hint=hint)

    def __getitem__(self, metric: str) -> Score:
        return self.score(metric)

    def metric(self, name: str) -> Metric:
        """The declaration of a metric of this result."""
        return next((metric for metric in self.metrics if metric.name == name), None) or Metric(name, name)

    def only(self, system: str) -> Result:
        """The part of the result that is about one system."""
        import polars as pl

        return replace(
            self,
            scores=[score for score in self.scores if score.system == system],
            counts={name: counts for name, counts in self.counts.items() if name == system},
            inputs={name: digests for name, digests in self.inputs.items() if name == system},
            unscored=[count for count in self.unscored if count.system == system],
            findings=[one for one in self.findings if getattr(one, "system", "") in ("", system)],
            make_rows=lambda: self.rows().filter(pl.col("system") == system),
        )

    def frame(self) -> pl.DataFrame:
        """The scores as a polars frame, one row per score."""
        import polars as pl

        texts = ("system", "metric", "group", "signature", "reason", "scale", "better", "interval_note")
        names = ("system", "metric", "group", "value", "low", "high", "n", *texts[3:])
        kinds = dict.fromkeys(texts, pl.String) | {"n": pl.Int64}
        columns: dict[str, list[Any]] = {name: [getattr(score, name) for score in self.scores] for name in names}
        columns["group"] = [str(group) for group in columns["group"]]
        return pl.DataFrame(columns, schema={name: kinds.get(name, pl.Float64) for name in names})

    def rows(self) -> pl.DataFrame:
        """One row per unit and metric: each score is the sum of `num` over the sum of `den`."""
        import polars as pl

        return pl.DataFrame() if self.make_rows is None else self.make_rows().lazy().collect()

    def explorer(self) -> Any:
        """Every dialogue, response or trajectory with the verdict on each system (`troth.storage.explorer.Archive`)."""
        return import_path("troth.storage.explorer:Archive")() if self.make_explorer is None else self.make_explorer()

    def save(self, folder: Path) -> None:
        """Writes a run folder, whole or not at all; an older run in its place is replaced."""
        import_path(SAVE)(self, os.fspath(folder))

    def save_if(self, folder: Path | None) -> Result:
        """The result itself, saved to the folder if one is given."""
        if folder is not None:
            self.save(folder)
        return self

    def unbeaten(self) -> frozenset[Any]:
        """The best score of each metric, and those that a paired test does not distinguish from it."""
        if len(self.systems) < 2:
            return frozenset()
        best: frozenset[Any] = import_path(PAIRWISE_BEST)(self)
        return best

    def tables(self, *, intervals: bool = True, bold: bool = True) -> list[table.Table]:
        """The scores laid out for reading; without `bold`, the best ones are not tested for and not marked."""
        headline = [metric.name for metric in self.metrics if metric.headline]
        best = self.unbeaten() if bold else frozenset[Any]()
        return table.score_tables(self.scores, intervals=intervals, headline=headline, best=best)

    def plot(self, metrics: str | Iterable[str] | None = None, *, group: str = ALL, path: Path | None = None) -> Any:
        """Draws scores with their intervals, a row per metric and a colour per system; needs `troth[charts]`.

        Without `metrics`, these are the shares, or the headline metrics among them. `path` writes the chart to a file
        that ends in .svg, .png, .html or .json. Returns an Altair chart, which notebooks show.
        """
        return import_path(PLOT)(self, metrics, group=group, path=path)

    def __repr__(self) -> str:
        head = f"troth {self.task}: {len(self.scores)} scores of {', '.join(self.systems) or 'no system'}"
        lines = "\n\n".join(part.plain() for part in self.tables(bold=False)).splitlines()
        more = [f"… {len(lines) - SHOWN} more lines: result.frame() has them all"] if len(lines) > SHOWN else []
        return "\n".join([head, *lines[:SHOWN], *more])

    def _repr_html_(self) -> str:
        """A table in a notebook."""
        return "".join([f"<p>troth {html.escape(self.task)}</p>", *(part.html() for part in self.tables())])
