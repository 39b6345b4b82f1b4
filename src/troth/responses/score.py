"""Scores responses of task-oriented systems: files in, SER, SGSAcc and BLEU out, with intervals and signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from troth.core import groups
from troth.core.data_options import format_option, nli_option, schema_option, train_schema_option
from troth.core.digest import digest, schema_digest
from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, is_path, name_paths, parse_names, path_of
from troth.core.options import (
    cache_file,
    keywords,
    option,
    record_arguments,
    resamples_option,
    resolve,
    run_folder,
    seed_option,
    workers_option,
)
from troth.core.records import Gold, Schema
from troth.core.result import Note, Result
from troth.core.tasks import Task
from troth.engine import WithModel, in_process, parallel_map
from troth.models import Nli, TextPair
from troth.models.batches import Cutting
from troth.readers import responses as response_files
from troth.readers.responses import Key, Response
from troth.responses import bleu, cells, corpus, explorer, references, ser, sgsacc, tamper
from troth.responses import metrics as measures
from troth.responses.cells import JudgedSystem, ResponseScorer
from troth.responses.corpus import ActCorpus
from troth.responses.judge import assemble_response
from troth.responses.metrics import BleuRecipe, JudgedResponse, Recipes, SerRecipe, SgsaccRecipe, TurnRecipe
from troth.responses.references import Refs
from troth.responses.sgsacc import ActReference, ActVerdict, Augment, SystemTurn
from troth.stats.estimates import Resampling, build_result
from troth.storage.runs import check_out

TASK = Task("nlg", "responses", "dialogues", "troth.report.page.responses")
Missing = Literal["part", "zero", "skip"]

NO_TEXT = "gold has no utterances"
DIFFERENT = "the systems answer different turns: their numbers do not compare, and none is marked best"


@dataclass(frozen=True)
class ResponseSettings:
    metrics: str | Iterable[str] | None = option(
        None, "Metrics, comma-separated; ser and sgsacc include their variants. Default: all.", "NAMES",
        complete=("troth.responses.metrics:METRICS",),
    )  # fmt: skip
    schema: Path | Schema | None = schema_option("gold")
    train_schema: Path | Schema | None = train_schema_option()
    by: str | Iterable[str] = option(
        (), "Add scores by service, domain, act, slot or kind, comma-separated.", "NAMES", complete=cells.GROUPS[1:]
    )
    missing: Missing = option(
        "part",
        "Turns without a response: wrong if any system answers in the dialogue (part), wrong (zero), left out (skip).",
        choices=get_args(Missing),
    )
    ids: Path | None = option(None, "File with `dialogue turn` per line, for files with one response per line.", "FILE")
    nli: str | Nli = nli_option()
    cache: Path | None = cache_file()
    augment: Augment = option(
        "retry", "Whether acts that a response alone does not entail are tried again in context.",
        choices=("retry", "never"),
    )  # fmt: skip
    refs: Refs = option(
        "b", "Sentences of booleans that are False: as in appendix B of the SGSAcc paper, or as in its table 3.",
        choices=get_args(Refs),
    )  # fmt: skip
    negatives: int = option(1, "Number of tampered copies per act, for validation.", least=1, most=100)
    gold_text: bool = option(
        True, "Use gold's acts only, as in production: any of the reference sentences may match.", flag="--no-gold-text"
    )
    format: str | None = format_option("gold")
    pred_format: str | None = option(
        None, "Format of the responses: jsonl, csv or lines. Default: detected.", "NAME",
        complete=("jsonl", "csv", "lines"),
    )  # fmt: skip
    resamples: int = resamples_option()
    seed: int = seed_option("Random seed of the bootstrap and of the tampered values.")
    workers: int = workers_option()
    out: Path | None = run_folder()


@keywords(ResponseSettings)
def nlg(
    gold: Gold, *files: Path, responses: Mapping[str, Mapping[Key, str | Response]] | None = None, **options: Any
) -> Result:
    """Scores responses against the acts and utterances of gold.

    `gold` has the system's turns with their acts. Each of `files` holds the responses of one system: JSONL, CSV, or
    one response per line; it may be given as `NAME=PATH`. In memory, `gold` is a list of dialogues (then `schema` must
    be given), and `responses` maps a system's name to its texts by dialogue and turn:
    `{"new": {("1_00002", 1): "Which location?"}}`. The options are those of `ResponseSettings`.

    >>> from troth import demo
    >>> result = nlg(demo.path("gold"), demo.path("responses/terse.jsonl"), metrics="ser", resamples=50)
    >>> f"{result['ser'].value:.3f}"
    '0.233'
    """
    settings = resolve(ResponseSettings, options)
    metrics = measures.select_metrics(settings.metrics)  # a misspelt name is an error before anything is read
    groups.parse_groups(settings.by, cells.GROUPS, train_schema=settings.train_schema)
    if settings.out is not None:
        check_out(settings.out)
    needs = {need for metric in metrics for need in metric.needs}
    read = read_responses(gold, files if responses is None else responses, settings, acts="schema" in needs)
    return score_responses(read, settings)


class ResponseCorpus(NamedTuple):
    """Gold's turns, and the responses of each system by dialogue and turn."""

    gold: ActCorpus
    responses: dict[str, dict[Key, Response]]
    seen: frozenset[str] | None  # services of the training schema
    notes: list[str]
    arguments: dict[str, Any]


def read_responses(
    gold: Gold,
    responses: Sequence[Path] | Mapping[str, Mapping[Key, str | Response]],
    settings: ResponseSettings,
    *,
    acts: bool = True,
) -> ResponseCorpus:
    """Gold and responses from files or from memory; without `acts`, no schema is needed."""
    source = path_of(gold) if is_path(gold) else None
    read = corpus.read(gold, settings.schema, format=settings.format, acts=acts)
    if not read.turns:
        raise UserError("gold has no system turn", file=source, hint="SGD's layout has them")
    if not responses:
        raise UserError("no responses are given", hint="for example responses.jsonl, or name=responses.jsonl")
    notes: list[str] = []
    speakers = {dialogue.id: [turn.speaker for turn in dialogue.turns] for dialogue in read.dialogues}
    if isinstance(responses, Mapping):
        by_system = {
            name: {key: Response(text, name, 0) if isinstance(text, str) else text for key, text in texts.items()}
            for name, texts in responses.items()
        }
        for texts in by_system.values():
            response_files.check_keys(texts, speakers)
    else:
        ids = None if settings.ids is None else path_of(settings.ids)
        by_system = {
            label: response_files.read(path, speakers, format=settings.pred_format, ids=ids, tell=notes.append)
            for label, path in name_paths(responses, "file of responses")
        }
    train = settings.train_schema
    seen = None if train is None else frozenset(corpus.find_schema(train, gold) or ())
    named = list(by_system) if isinstance(responses, Mapping) else list(responses)
    return ResponseCorpus(read, by_system, seen, notes, {"gold": source, "responses": named})


def score_responses(read: ResponseCorpus, settings: ResponseSettings) -> Result:
    """The result of a corpus of responses: every act judged once, then every metric for every group."""
    metrics = measures.select_metrics(settings.metrics)
    by = groups.parse_groups(settings.by, cells.GROUPS, train_schema=settings.train_schema)
    run = _Run(read, settings, {need for metric in metrics for need in metric.needs})
    systems = run.systems()
    how = Resampling(settings.resamples, settings.seed)
    scorer = ResponseScorer(metrics, run.unscored(metrics), run.recipes(), by, read.seen, how)
    judged = {system.name: system.responses for system in systems}
    acts = explorer.judged_acts(judged, validated="negatives" in run.needs)
    inputs = {"gold": digest(read.gold.dialogues), **schema_digest(read.gold.schema)}
    return build_result(
        TASK.name,
        (scorer.system_cells(system, inputs) for system in systems),
        how,
        metrics=[*metrics, *measures.companion_metrics(metrics)],
        notes=[Note(text) for text in run.all_notes(systems)],
        findings=[act for act in acts if act.reference is not None and not act.entailed],
        arguments=record_arguments(settings, **read.arguments),
        explorer=lambda: explorer.archive(judged),
    ).save_if(settings.out)


class _Run:
    """What is judged by what: gold's turns, the responses of each system, and the model."""

    def __init__(self, read: ResponseCorpus, settings: ResponseSettings, needs: Set[str]) -> None:
        self.settings, self.needs = settings, needs
        self.gold, self.files, self.notes = read.gold, read.responses, read.notes
        self.turns = [turn if settings.gold_text else turn._replace(gold="") for turn in self.gold.turns]
        self.model = corpus.open_model(settings.nli, settings.cache) if "nli" in needs else None
        self.kinds = self.model is not None or "kind" in parse_names(settings.by)

    def recipes(self) -> Recipes:
        schema, settings = self.gold.schema, self.settings
        ways = {"gold" if turn.gold.strip() else "any" for turn in self.turns if turn.acts}
        sgsacc_recipe = SgsaccRecipe(
            refs=references.rules_name(settings.refs),
            schema=references.fingerprint(schema),
            descriptions=corpus.classify_descriptions(schema),
            nli=self.model.name if self.model is not None else "",
            select="+".join(sorted(ways, reverse=True)) or "gold",
            augment=settings.augment,
            negatives=settings.negatives,
            seed=settings.seed,
        )
        ser_recipe = SerRecipe(schema=ser.fingerprint(ser.noncategorical_slots(schema)))
        counted = "sacrebleu" in self.needs and bleu.is_installed()  # which takes a while to import
        return Recipes(ser_recipe, sgsacc_recipe, BleuRecipe(**bleu.signature_rules()) if counted else ())

    def unscored(self, metrics: Sequence[Metric]) -> dict[str, str]:
        """The metrics that cannot be computed at all, with the reason."""
        absent = {} if any(turn.gold.strip() for turn in self.turns) else {"text": NO_TEXT}
        absent |= {} if bleu.is_installed() else {"sacrebleu": bleu.MISSING}
        reasons = {metric.name: [absent[need] for need in metric.needs if need in absent] for metric in metrics}
        return {name: texts[0] for name, texts in reasons.items() if texts}

    def all_notes(self, systems: Sequence[JudgedSystem]) -> list[str]:
        notes = [*self.notes, *([DIFFERENT] if len({system.recipe.set for system in systems}) > 1 else [])]
        if self.model is None:
            return notes
        return [
            *notes,
            *corpus.description_notes(corpus.classify_descriptions(self.gold.schema)),
            *corpus.truncation_notes(self.model),
        ]

    def systems(self) -> list[JudgedSystem]:
        """All systems, judged; gold's part is done once."""
        scored, settings = self._scored_turns(), self.settings
        prepared: dict[Key, tuple[ActReference, ...]] = {}
        if self.model is not None:
            distinct = {turn.key: turn for turns in scored.values() for turn in turns}
            prepare = partial(
                sgsacc.prepare, pool=tamper.collect_values(self.gold.dialogues), augment=settings.augment,
                validate="negatives" in self.needs, count=settings.negatives, seed=settings.seed,
                refs=settings.refs,
            )  # fmt: skip
            prepared = dict(zip(distinct, self._ask_model(prepare, list(distinct.values())), strict=True))
        return [self._judge_system(name, turns, prepared) for name, turns in scored.items()]

    def _ask_model(self, ask: Callable[[Sequence[Any], Nli], list[Any]], items: list[Any]) -> list[Any]:
        """What the model says of each item: asked here, or by workers that open it themselves, in the same batches."""
        model, settings = self.model, self.settings
        if model is None or in_process(settings.workers):
            return [] if model is None else ask(items, model)
        work = WithModel(partial(_ask_with_cuts, ask), partial(corpus.open_model, settings.nli, settings.cache))
        chunks = [items[start : start + sgsacc.CHUNK] for start in range(0, len(items), sgsacc.CHUNK)]
        answers: list[Any] = []
        for part, cut in parallel_map(work, chunks, settings.workers):
            answers += part
            if isinstance(model, Cutting):
                model.shortened |= cut
        return answers

    def _scored_turns(self) -> dict[str, list[SystemTurn]]:
        """The turns that count, by system. Except under `skip`, all systems have the same turns."""
        if self.settings.missing == "skip":
            return {name: [one for one in self.turns if one.key in responses] for name, responses in self.files.items()}
        answered = {dialogue for responses in self.files.values() for dialogue, _ in responses}
        all_turns = self.settings.missing == "zero"
        turns = [turn for turn in self.turns if all_turns or turn.dialogue in answered]
        return {name: turns for name in self.files}  # noqa: C420 (nobody changes them)

    def _judge_system(
        self, name: str, turns: Sequence[SystemTurn], prepared: Mapping[Key, tuple[ActReference, ...]]
    ) -> JudgedSystem:
        responses, slots = self.files[name], ser.noncategorical_slots(self.gold.schema)
        texts = [responses[turn.key].text if turn.key in responses else None for turn in turns]
        verdicts: Sequence[Sequence[ActVerdict | None]] = [(None,) * len(turn.acts) for turn in turns]
        if self.model is not None:
            refs = [prepared[turn.key] for turn in turns]
            judge = partial(sgsacc.judge_responses, augment=self.settings.augment)
            verdicts = self._ask_model(judge, list(zip(turns, refs, texts, strict=True)))
        judged = [
            assemble_response(
                turn, text, acts, slots, kinds=self.kinds,
                candidates=responses[turn.key].candidates if turn.key in responses else (),
            )
            for turn, text, acts in zip(turns, texts, verdicts, strict=True)
        ]  # fmt: skip
        recipe = TurnRecipe(self.settings.missing)
        if self.settings.missing == "skip":  # the system's own responses decide which turns count
            recipe = replace(recipe, set=groups.fingerprint(f"{turn.dialogue}\t{turn.turn}" for turn in turns))
        return JudgedSystem(name, judged, _counts(judged, len(self.turns) - len(responses)), recipe)


def _ask_with_cuts(
    ask: Callable[[Sequence[Any], Nli], list[Any]], items: Sequence[Any], model: Nli
) -> tuple[list[Any], set[TextPair]]:
    """The answers, and the pairs that were longer than the model reads."""
    return ask(items, model), set(model.shortened)


def _counts(responses: Sequence[JudgedResponse], lacking: int) -> dict[str, int]:
    """What the user should know of; `run.json` keeps it."""
    texts = [response.answer.text for response in responses]
    counts = {
        "dialogues": len({response.dialogue for response in responses}),
        "turns": len(responses),
        "turns_without_a_response": lacking,
        "of_them_scored_as_wrong": sum(text is None for text in texts),
        "empty_responses": sum(text is not None and not text.strip() for text in texts),
        "turns_without_acts": sum(not response.answer.acts for response in responses),
    }
    judged = [[act for act in response.answer.acts if act.present is not None] for response in responses]
    flat = [act for acts in judged for act in acts]
    if not flat:
        return counts
    counts["acts"] = len(flat)
    counts["acts_true_only_in_context"] = sum(act.helped for act in flat)
    counts["responses_faithful_only_in_context"] = sum(
        all(act.entailed for act in acts) and any(act.helped for act in acts) for acts in judged
    )
    first = [next((r for r in sgsacc.REASONS if any(act.excluded == r for act in acts)), None) for acts in judged]
    for what, excluded in (("turns", Counter(first)), ("acts", Counter(act.excluded for act in flat))):
        for reason in (reason for reason in sgsacc.REASONS if excluded[reason]):
            counts[f"{what}_excluded:_{reason.replace(' ', '_')}"] = excluded[reason]
    return counts
