"""What trials of a metric on gold share: options, corpus and model, the turns that are drawn, and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from troth import models
from troth.core.names import Path
from troth.core.options import one_of, recorded
from troth.core.records import Schema
from troth.models import Nli
from troth.responses import corpus
from troth.responses.corpus import ActCorpus, Gold
from troth.responses.references import Refs
from troth.responses.sgsacc import SystemTurn
from troth.stats.estimates import Cell, Resampling, scores
from troth.storage.result import Result, check_out

if TYPE_CHECKING:
    import polars as pl


class TrialOptions(TypedDict, total=False):
    """Keywords of every trial; what they mean and their defaults: `TrialSettings`."""

    schema: Path | Schema | None
    nli: str | Nli
    cache: Path | None
    format: str | None
    turns: int | None
    refs: Refs
    resamples: int
    seed: int
    out: Path | None


@dataclass(frozen=True)
class TrialSettings:
    schema: Path | Schema | None = None  # None: the schema.json beside gold
    nli: str | Nli = "embedded"  # the entailment model, or its name
    cache: Path | None = models.DEFAULT_CACHE  # a file of the model's earlier answers; None: keep none
    format: str | None = None  # of gold; None: detected
    turns: int | None = 2000  # system turns to draw; None: all
    refs: Refs = "b"  # sentences of booleans that are False: "b" (appendix B of the SGSAcc paper) or "table3"
    resamples: int = 1000
    seed: int = 0  # of the turns that are drawn, and of how acts are changed
    out: Path | None = None  # save the run to this folder


class Trial:
    """Gold and the model of one trial, and its result."""

    def __init__(self, task: str, gold: Gold, settings: TrialSettings) -> None:
        if settings.out is not None:
            check_out(settings.out)
        one_of("refs", settings.refs, get_args(Refs))
        self.task, self.settings = task, settings
        self.source = gold if isinstance(gold, str | PathLike) else None
        self.nli = corpus.model(settings.nli, settings.cache)
        self.gold: ActCorpus = corpus.read(gold, settings.schema, format=settings.format)
        self.descriptions = corpus.descriptions(self.gold.schema)

    def turns(self) -> list[SystemTurn]:
        """All turns with acts and a text, in an order that depends on the seed and their ids alone."""
        spoken = (turn for turn in self.gold.turns if turn.acts and turn.gold.strip())
        return corpus.shuffled(spoken, self.settings.seed)

    def result(
        self,
        systems: Mapping[str, Sequence[Cell]],
        counts: Mapping[str, int],
        *,
        notes: Sequence[str] | None = None,
        details: Sequence[Any] = (),
        rows: Callable[[], pl.DataFrame] | None = None,
    ) -> Result:
        """The result of the trial, saved if that was asked for. `counts` are the same for all systems."""
        every = [cell for cells in systems.values() for cell in cells]
        dialogues = sorted({name for cell in every for name in cell.parts.units.dialogues})
        how = Resampling(self.settings.resamples)
        result = Result(
            self.task,
            [score for name, cells in systems.items() for score in scores(name, cells, dialogues, how)],
            list({cell.metric.name: cell.metric for cell in every}.values()),
            counts={name: dict(counts) for name in systems},
            notes=[*(corpus.lacking(self.descriptions) if notes is None else notes), *corpus.shortened(self.nli)],
            details=details,
            arguments=recorded(self.settings, gold=self.source),
            make_rows=rows or (lambda: _rows(systems)),
        )
        if self.settings.out is not None:
            result.save(self.settings.out)
        return result


def _rows(systems: Mapping[str, Sequence[Cell]]) -> pl.DataFrame:
    import polars as pl

    whole = [(name, cell) for name, cells in systems.items() for cell in cells if cell.group == "all"]
    return pl.concat(cell.parts.frame(name, cell.metric.name) for name, cell in whole)
