"""Scores responses of task-oriented systems: files in, SER, SGSAcc and BLEU out, with intervals and signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, get_args

from troth import models
from troth.core import groups
from troth.core.digest import digest, schema_digest
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, labelled, listed, path_of
from troth.core.options import one_of, recorded, resolve
from troth.core.records import Schema
from troth.engine import WithModel, in_process, parallel_map
from troth.models import Nli, TextPair
from troth.models.batches import Cutting
from troth.readers import responses as response_files
from troth.readers.responses import Key
from troth.responses import bleu, cells, corpus, explorer, references, ser, sgsacc, tamper
from troth.responses import metrics as measures
from troth.responses.cells import JudgedSystem, ResponseScorer
from troth.responses.judge import judged as judged_response
from troth.responses.metrics import BleuRecipe, JudgedResponse, Recipes, SerRecipe, SgsaccRecipe, TurnRecipe
from troth.responses.references import Refs
from troth.responses.sgsacc import ActReference, ActVerdict, Augment, SystemTurn
from troth.stats.estimates import Resampling
from troth.storage.result import Result, check_out

Missing = Literal["part", "zero", "skip"]

NO_TEXT = "gold has no utterances"
DIFFERENT = "the systems answer different turns: their numbers do not compare, and none is marked best"


class ResponseOptions(TypedDict, total=False):
    """Keywords of `nlg`; what they mean and their defaults: `ResponseSettings`."""

    metrics: str | Iterable[str] | None
    schema: Path | Schema | None
    train_schema: Path | Schema | None
    by: str | Iterable[str]
    missing: Missing
    nli: str | Nli
    cache: Path | None
    gold_text: bool
    augment: Augment
    refs: Refs
    negatives: int
    ids: Path | None
    format: str | None
    pred_format: str | None
    resamples: int
    seed: int
    workers: int
    out: Path | None


@dataclass(frozen=True)
class ResponseSettings:
    metrics: str | Iterable[str] | None = None  # ser, bleu, sgsacc, each with its family, or single names; None: all
    schema: Path | Schema | None = None  # None: the schema.json beside gold
    train_schema: Path | Schema | None = None  # tells seen services from unseen ones
    by: str | Iterable[str] = ()  # groups: service, domain, act, slot, kind
    # A system turn without a response: "zero", wrong; "skip", left out; "part", wrong if any of the systems answers in
    # its dialogue, else left out.
    missing: Missing = "part"
    nli: str | Nli = "embedded"  # the entailment model, or its name
    cache: Path | None = models.DEFAULT_CACHE  # a file of the model's earlier answers; None: keep none
    gold_text: bool = True  # False: use gold's acts alone, as in production
    augment: Augment = "retry"  # "retry": what is not entailed is asked again in its context; "never"
    refs: Refs = "b"  # sentences of booleans that are False: "b", as appendix B has them; "table3", as table 3 does
    negatives: int = 1  # tampered twins per act, for validation
    ids: Path | None = None  # `dialogue turn` per line, for files with one response per line
    format: str | None = None  # of gold; None: detected
    pred_format: str | None = None  # of the responses: jsonl, csv or lines
    resamples: int = 1000
    seed: int = 0  # of the resampling and of the negatives
    workers: int = 1  # that ask the model, each with its own; 0: one per core. Results do not depend on it
    out: Path | None = None  # save the run to this folder


def nlg(gold: Path, *responses: Path, **options: Unpack[ResponseOptions]) -> Result:
    """Scores responses against the acts and utterances of gold.

    `gold` has the system's turns with their acts. Each of `responses` is a file of one system: JSONL, CSV, or one
    response per line; it may be given as `NAME=PATH`. The options are those of `ResponseSettings`.

    >>> from troth import demo
    >>> result = nlg(demo.path("gold"), demo.path("responses/terse.jsonl"), metrics="ser", resamples=50)
    >>> f"{result['ser'].value:.3f}"
    '0.233'
    """
    settings = resolve(ResponseSettings, options)
    metrics = measures.chosen(settings.metrics)  # a misspelt name is an error before anything is read
    by = groups.chosen(settings.by, cells.GROUPS, train_schema=settings.train_schema)
    _check(settings)
    source = path_of(gold)
    run = _Run(source, responses, settings, {need for metric in metrics for need in metric.needs})
    systems = run.systems()
    seen = None if settings.train_schema is None else frozenset(corpus.schema_of(settings.train_schema, source) or ())
    how = Resampling(settings.resamples, settings.seed)
    scorer = ResponseScorer(metrics, run.unscored(metrics), run.recipes(), by, seen, how)
    judged = {system.name: system.responses for system in systems}
    rows = explorer.act_rows(judged, validated="negatives" in run.needs)
    inputs = {"gold": digest(run.gold.dialogues), **schema_digest(run.gold.schema)}
    result = Result(
        "nlg",
        [score for system in systems for score in scorer.scores(system)],
        [*metrics, *measures.companions(metrics)],
        counts={system.name: system.counts for system in systems},
        notes=run.all_notes(systems),
        details=[row for row in rows if row["reference"] is not None and not row["entailed"]],
        arguments=recorded(settings, gold=source, responses=responses),
        inputs=dict.fromkeys(judged, inputs),
        make_rows=lambda: scorer.rows(systems),
        make_explorer=lambda: explorer.archive(judged),
    )
    if settings.out is not None:
        result.save(settings.out)
    return result


def _check(settings: ResponseSettings) -> None:
    one_of("missing", settings.missing, get_args(Missing))
    one_of("augment", settings.augment, get_args(Augment))
    one_of("refs", settings.refs, get_args(Refs))
    if not 1 <= settings.negatives <= 100:
        hint = "the paper's text suggests one"
        raise UserError(f"negatives must be from 1 to 100, not {settings.negatives}", hint=hint)
    if settings.out is not None:
        check_out(settings.out)


class _Run:
    """What is judged by what: gold's turns, the responses of each system, and the model."""

    def __init__(self, gold: str, responses: Sequence[Path], settings: ResponseSettings, needs: Set[str]) -> None:
        self.settings, self.needs = settings, needs
        self.gold = corpus.read(gold, settings.schema, format=settings.format, acts="schema" in needs)
        if not self.gold.turns:
            raise UserError("gold has no system turn", file=gold, hint="SGD's layout has them")
        if not responses:
            raise UserError("no responses are given", hint="for example responses.jsonl, or name=responses.jsonl")
        self.turns = [turn if settings.gold_text else turn._replace(gold="") for turn in self.gold.turns]
        self.notes: list[str] = []
        speakers = {dialogue.id: [turn.speaker for turn in dialogue.turns] for dialogue in self.gold.dialogues}
        ids = None if settings.ids is None else path_of(settings.ids)
        self.files = {
            label: response_files.read(path, speakers, format=settings.pred_format, ids=ids, tell=self.notes.append)
            for label, path in labelled(responses, "file of responses")
        }
        self.model = corpus.model(settings.nli, settings.cache) if "nli" in needs else None
        self.kinds = self.model is not None or "kind" in listed(settings.by)

    def recipes(self) -> Recipes:
        schema, settings = self.gold.schema, self.settings
        ways = {"gold" if turn.gold.strip() else "any" for turn in self.turns if turn.acts}
        sgsacc_recipe = SgsaccRecipe(
            refs=references.rules(settings.refs),
            schema=references.fingerprint(schema),
            descriptions=corpus.descriptions(schema),
            nli=self.model.name if self.model is not None else "",
            select="+".join(sorted(ways, reverse=True)) or "gold",
            augment=settings.augment,
            negatives=settings.negatives,
            seed=settings.seed,
        )
        ser_recipe = SerRecipe(schema=ser.fingerprint(ser.noncategorical(schema)))
        counted = "sacrebleu" in self.needs and bleu.available()  # which takes a while to import
        return Recipes(ser_recipe, sgsacc_recipe, BleuRecipe(**bleu.rules()) if counted else ())

    def unscored(self, metrics: Sequence[Metric]) -> dict[str, str]:
        """The metrics that cannot be computed at all, with the reason."""
        absent = {} if any(turn.gold.strip() for turn in self.turns) else {"text": NO_TEXT}
        absent |= {} if bleu.available() else {"sacrebleu": bleu.MISSING}
        reasons = {metric.name: [absent[need] for need in metric.needs if need in absent] for metric in metrics}
        return {name: mine[0] for name, mine in reasons.items() if mine}

    def all_notes(self, systems: Sequence[JudgedSystem]) -> list[str]:
        notes = [*self.notes, *([DIFFERENT] if len({system.recipe.set for system in systems}) > 1 else [])]
        if self.model is None:
            return notes
        return [*notes, *corpus.lacking(corpus.descriptions(self.gold.schema)), *corpus.shortened(self.model)]

    def systems(self) -> list[JudgedSystem]:
        """All systems, judged; gold's part is done once."""
        scored, settings = self._scored(), self.settings
        prepared: dict[Key, tuple[ActReference, ...]] = {}
        if self.model is not None:
            distinct = {turn.key: turn for turns in scored.values() for turn in turns}
            prepare = partial(
                sgsacc.prepare, pool=tamper.pool(self.gold.dialogues), augment=settings.augment,
                validate="negatives" in self.needs, count=settings.negatives, seed=settings.seed,
                refs=settings.refs,
            )  # fmt: skip
            prepared = dict(zip(distinct, self._asked(prepare, list(distinct.values())), strict=True))
        return [self._system(name, turns, prepared) for name, turns in scored.items()]

    def _asked(self, ask: Callable[[Sequence[Any], Nli], list[Any]], items: list[Any]) -> list[Any]:
        """What the model says of each item: asked here, or by workers that open it themselves, in the same batches."""
        model, settings = self.model, self.settings
        if model is None or in_process(settings.workers):
            return [] if model is None else ask(items, model)
        work = WithModel(partial(_with_cuts, ask), partial(corpus.model, settings.nli, settings.cache))
        chunks = [items[start : start + sgsacc.CHUNK] for start in range(0, len(items), sgsacc.CHUNK)]
        answers: list[Any] = []
        for some, cut in parallel_map(work, chunks, settings.workers):
            answers += some
            if isinstance(model, Cutting):
                model.shortened |= cut
        return answers

    def _scored(self) -> dict[str, list[SystemTurn]]:
        """The turns that count, by system. Except under `skip`, all systems have the same turns."""
        if self.settings.missing == "skip":
            return {name: [one for one in self.turns if one.key in mine] for name, mine in self.files.items()}
        answered = {dialogue for mine in self.files.values() for dialogue, _ in mine}
        every = self.settings.missing == "zero"
        turns = [turn for turn in self.turns if every or turn.dialogue in answered]
        return {name: turns for name in self.files}  # noqa: C420 (nobody changes them)

    def _system(
        self, name: str, turns: Sequence[SystemTurn], prepared: Mapping[Key, tuple[ActReference, ...]]
    ) -> JudgedSystem:
        said, slots = self.files[name], ser.noncategorical(self.gold.schema)
        texts = [said[turn.key].text if turn.key in said else None for turn in turns]
        verdicts: Sequence[Sequence[ActVerdict | None]] = [(None,) * len(turn.acts) for turn in turns]
        if self.model is not None:
            refs = [prepared[turn.key] for turn in turns]
            judge = partial(sgsacc.judged, augment=self.settings.augment)
            verdicts = self._asked(judge, list(zip(turns, refs, texts, strict=True)))
        judged = [
            judged_response(
                turn, text, mine, slots, kinds=self.kinds,
                candidates=said[turn.key].candidates if turn.key in said else (),
            )
            for turn, text, mine in zip(turns, texts, verdicts, strict=True)
        ]  # fmt: skip
        recipe = TurnRecipe(self.settings.missing)
        if self.settings.missing == "skip":  # the system's own responses decide which turns count
            recipe = replace(recipe, set=groups.fingerprint(f"{turn.dialogue}\t{turn.turn}" for turn in turns))
        return JudgedSystem(name, judged, _counts(judged, len(self.turns) - len(said)), recipe)


def _with_cuts(
    ask: Callable[[Sequence[Any], Nli], list[Any]], items: Sequence[Any], model: Nli
) -> tuple[list[Any], set[TextPair]]:
    """The answers, and the pairs that were longer than the model reads."""
    return ask(items, model), set(model.shortened)


def _counts(said: Sequence[JudgedResponse], lacking: int) -> dict[str, int]:
    """What the user should know of; `run.json` keeps it."""
    texts = [one.answer.text for one in said]
    counts = {
        "dialogues": len({one.dialogue for one in said}),
        "turns": len(said),
        "turns_without_a_response": lacking,
        "of_them_scored_as_wrong": sum(text is None for text in texts),
        "empty_responses": sum(text is not None and not text.strip() for text in texts),
        "turns_without_acts": sum(not one.answer.acts for one in said),
    }
    judged = [[act for act in one.answer.acts if act.present is not None] for one in said]
    flat = [act for mine in judged for act in mine]
    if not flat:
        return counts
    counts["acts"] = len(flat)
    counts["acts_true_only_in_context"] = sum(act.helped for act in flat)
    counts["responses_faithful_only_in_context"] = sum(
        all(act.entailed for act in mine) and any(act.helped for act in mine) for mine in judged
    )
    first = [next((r for r in sgsacc.REASONS if any(act.excluded == r for act in mine)), None) for mine in judged]
    for what, excluded in (("turns", Counter(first)), ("acts", Counter(act.excluded for act in flat))):
        for reason in (reason for reason in sgsacc.REASONS if excluded[reason]):
            counts[f"{what}_excluded:_{reason.replace(' ', '_')}"] = excluded[reason]
    return counts
