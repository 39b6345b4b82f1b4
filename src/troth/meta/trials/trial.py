"""Common parts of trials of a metric on gold: options, corpus and model, the drawn turns, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, get_args

from troth.core.data_options import format_option, nli_option, schema_option
from troth.core.names import Path
from troth.core.options import cache_file, option, record_arguments, resamples_option, run_folder, seed_option
from troth.core.records import Gold, Schema
from troth.core.result import Note, Result
from troth.models import Nli
from troth.responses import corpus
from troth.responses.corpus import ActCorpus
from troth.responses.references import Refs
from troth.responses.sgsacc import SystemTurn
from troth.stats.estimates import Cell, Resampling, SystemCells, build_result
from troth.storage.runs import check_out


@dataclass(frozen=True)
class TrialSettings:
    turns: int | None = option(2000, "Number of system turns to draw.", least=0, zero="all")
    schema: Path | Schema | None = schema_option("gold")
    nli: str | Nli = nli_option()
    refs: Refs = option(
        "b", "Sentences of booleans that are False: as in appendix B of the SGSAcc paper, or as in its table 3.",
        choices=get_args(Refs),
    )  # fmt: skip
    cache: Path | None = cache_file()
    format: str | None = format_option("gold")
    resamples: int = resamples_option()
    seed: int = seed_option("Random seed: which turns are drawn, and how their acts are changed.")
    out: Path | None = run_folder()


class Trial:
    """Gold and the model of one trial, and its result."""

    def __init__(self, task: str, gold: Gold, settings: TrialSettings) -> None:
        if settings.out is not None:
            check_out(settings.out)
        self.task, self.settings = task, settings
        self.source = gold if isinstance(gold, str | PathLike) else None
        self.nli = corpus.open_model(settings.nli, settings.cache)
        self.gold: ActCorpus = corpus.read(gold, settings.schema, format=settings.format)
        self.descriptions = corpus.classify_descriptions(self.gold.schema)

    def turns(self) -> list[SystemTurn]:
        """All turns with acts and a text, in an order that depends on the seed and their ids alone."""
        spoken = (turn for turn in self.gold.turns if turn.acts and turn.gold.strip())
        return corpus.shuffle_turns(spoken, self.settings.seed)

    def result(
        self,
        systems: Mapping[str, Sequence[Cell]],
        counts: Mapping[str, int],
        *,
        notes: Sequence[str] | None = None,
        findings: Sequence[Any] = (),
        row_cells: Mapping[str, Sequence[Cell]] | None = None,
    ) -> Result:
        """The result of the trial, saved if that was asked for. `counts` are the same for all systems.

        `row_cells`: cells of each system that take the place of the scored ones in the rows.
        """
        every = [cell for cells in systems.values() for cell in cells]
        dialogues = sorted({name for cell in every for name in cell.parts.units.dialogues})
        texts = corpus.description_notes(self.descriptions) if notes is None else notes
        return build_result(
            self.task,
            [
                SystemCells(name, cells, dialogues, counts, row_cells=() if row_cells is None else row_cells[name])
                for name, cells in systems.items()
            ],
            Resampling(self.settings.resamples),
            notes=[Note(text) for text in (*texts, *corpus.truncation_notes(self.nli))],
            findings=findings,
            arguments=record_arguments(self.settings, gold=self.source),
        ).save_if(self.settings.out)
