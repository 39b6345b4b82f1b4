"""The demo: the four questions asked of made-up systems, on the bundled files, with the embedded models, offline.

Nothing is fetched. What a lean installation or an empty cache does not allow is left out, and `Demo.left_out` says how
to have it. The folder that is written holds the runs as the commands write them, what was made for them (perturbed
dialogues, reworded schemas, a calibration), and the page. It appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from troth import models as backends
from troth.core.errors import UserError
from troth.core.version import __version__
from troth.demo import path
from troth.storage import runs as store

if TYPE_CHECKING:
    from troth.grounding import score as ground
    from troth.report.page.model import Source
    from troth.responses import score as nlg
    from troth.robustness import checkdst as robust
    from troth.robustness import sgdx
    from troth.tracking import score as dst

TRACKERS = ("hasty", "sturdy")
GENERATORS = ("terse", "fluent")
ANSWERERS = ("careful", "chatty")
TWINS = {"NED": "entities", "SDI": "disfluency", "PI": "paraphrase"}
VARIANTS = 3
NAMES = frozenset({"hotel_name", "sight_name", "from_station", "to_station"})  # slots that hold names of places
PROFILE = "trade"
RECIPES = (PROFILE, "sgd", "sgd-exact", "nemo", "mwzeval", "checkdst")
LM = "smollm2-135m-instruct"

MARK = "demo.json"  # in the folder: it is ours to replace
PAGE = "report.html"
MADE = (MARK, PAGE, "calibration.json", "perturbed", "reworded")
RUNS = ("tracking", *(f"robust-{n}" for n in TRACKERS), *(f"wording-{n}" for n in TRACKERS), "responses", "grounding")
PARTS = ("state tracking", "robustness", "responses", "grounding", "the page")

Step = Callable[[str, int, int], None]  # a part, how much of it is done, how much there is


@dataclass
class Results:
    """What the parts found; None where a part could not be run."""

    tracking: dst.Result
    robust: dict[str, robust.Robustness]
    wording: dict[str, sgdx.Sensitivity]
    responses: nlg.Result
    grounding: ground.Result | None = None


@dataclass(frozen=True)
class Demo:
    folder: str
    page: str  # its address
    found: list[str]  # five lines
    left_out: list[str]  # what this installation does not have, and how to have it
    next: str  # a command to try
    results: Results = field(repr=False)


# -- what is made for the trackers -------------------------------------------------------------------------------------


def twins(out: Path) -> dict[str, str]:
    """The dialogues said otherwise, by the name that CheckDST gives the perturbation."""
    from troth.perturb.users.run import perturb

    for name, family in TWINS.items():
        perturb(path("gold"), out / name, with_=family)
    return {name: str(out / name) for name in TWINS}


def wordings(out: Path) -> tuple[str, list[str]]:
    """Reworded schemas: their folder, and the variants' names."""
    from troth.perturb.schemas.generators import Compose
    from troth.perturb.schemas.run import vary

    composed = Compose(count=VARIANTS, paraphrases=path("wordings/paraphrases.json"))
    return str(out), [variation.variant for variation in vary(path("gold"), out, with_=composed)]


# -- what there is -----------------------------------------------------------------------------------------------------


def lacking() -> dict[str, str]:
    """Metrics that cannot be had here, and how to have them."""
    found: dict[str, str] = {}
    if not _installed("onnxruntime", "tokenizers"):
        found |= dict.fromkeys(("sgsacc", "nli"), 'pip install "troth[nli]"')
    if not _installed("spacy"):
        found["u_f1"] = 'pip install "troth[text]"'
    if not _installed("torch", "transformers"):
        found["pmi_faith"] = 'pip install "troth[neural]" && troth models fetch'
    elif not _fetched():
        found["pmi_faith"] = "troth models fetch"
    return found


def _installed(*modules: str) -> bool:
    return all(find_spec(name) is not None for name in modules)


def _fetched() -> bool:
    from troth.models import catalog as models

    return any(status.name == LM and status.here for status in models.listed())


def told(absent: Mapping[str, str]) -> list[str]:
    """One line for each way to have something, with all that it gives."""
    ways: dict[str, list[str]] = {}
    called = {"sgsacc": "SGSAcc", "nli": "entailment", "u_f1": "U-F1", "pmi_faith": "PMI-Faith"}
    for metric, way in absent.items():
        ways.setdefault(way, []).append(called[metric])
    return [f"left out: {' and '.join(names)}; to have {_it(names)}: {way}" for way, names in ways.items()]


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


# -- the parts ---------------------------------------------------------------------------------------------------------


def demo(out: str, *, step: Step | None = None, cache: str | None = backends.USUAL) -> Demo:
    """Run everything and write it to the folder `out`, which may be that of an earlier demo and nothing else."""
    from troth.demo.lines import explaining, five

    absent = lacking()
    with _folder(out) as (part, target):
        work = _Work(part, target, absent, step or _silent, cache)
        tracking = work.tracking()
        by_user, by_schema = work.robustness()
        results = Results(tracking, by_user, by_schema, work.responses(), work.grounding())
        work.page()
        found = five(results)
        mark = {"kind": "troth demo", "version": __version__, "found": found, "left_out": told(absent)}
        (part / MARK).write_bytes(msgspec.json.format(msgspec.json.encode(mark), indent=1) + b"\n")
    return Demo(out, (target / PAGE).as_uri(), found, told(absent), explaining(tracking), results)


def _silent(part: str, done: int, total: int) -> None:
    """For nobody to watch."""


@dataclass
class _Work:
    """The parts one after the other, each written as its command writes it."""

    part: Path  # where the folder is made
    target: Path  # where it will lie
    absent: Mapping[str, str]
    tell: Step
    cache: str | None
    saved: list[str] = field(default_factory=list)

    def tracking(self) -> dst.Result:
        from troth.tracking.score import dst

        self.tell("state tracking", 0, 1)
        preds = [f"{name}={path(name)}" for name in TRACKERS]
        found = dst(path("gold"), *preds, profile=RECIPES, keep=True)
        counts = {one.name: asdict(one.counts) for one in found.systems}
        arguments = {"gold": path("gold"), "pred": preds, "profiles": ",".join(RECIPES)}
        self.save("tracking", "dst", arguments, found, counts, found.dialogues())
        self.tell("state tracking", 1, 1)
        return found

    def robustness(self) -> tuple[dict[str, robust.Robustness], dict[str, sgdx.Sensitivity]]:
        from troth.robustness.checkdst import checkdst
        from troth.robustness.sgdx import sgdx

        total = 2 + 2 * len(TRACKERS)
        self.tell("robustness", 0, total)
        sets = twins(self.part / "perturbed")
        self.tell("robustness", 1, total)
        schemas, variants = wordings(self.part / "reworded")
        self.tell("robustness", 2, total)
        by_user, by_schema = {}, {}
        for number, name in enumerate(TRACKERS):
            perturbed = {label: f"{there},{path(f'twins/{name}-{label}.jsonl')}" for label, there in sets.items()}
            own = f"{path('gold')},{path(name)}"
            one = checkdst(own, perturbed, name=name, profile=PROFILE, slots=NAMES, keep=True)
            counts = {item.name or "orig": asdict(item.scored.counts) for item in one.sets}
            shown = [f"{label}={there.replace(str(self.part), str(self.target))}" for label, there in perturbed.items()]
            arguments: dict[str, Any] = {"original": own, "perturbed": shown, "profile": PROFILE}
            self.save(f"robust-{name}", "robust checkdst", arguments, one, counts, one.dialogues(), one.flips)
            self.tell("robustness", 3 + 2 * number, total)
            preds = {label: path(f"wordings/{name}-{label}.jsonl") for label in variants}
            other = sgdx(
                path("gold"), preds, original_pred=path(name), schemas=schemas, name=name, profile=PROFILE,
                by=("service",), keep=True,
            )  # fmt: skip
            counts = {label: asdict(system.counts) for label, system in other.systems.items()}
            shown = [f"{label}={there}" for label, there in preds.items()]
            arguments = {"gold": path("gold"), "variants": [*shown, f"orig={path(name)}"], "profile": PROFILE}
            self.save(f"wording-{name}", "robust sgdx", arguments, other, counts, other.dialogues(), other.wavering)
            by_user[name], by_schema[name] = one, other
            self.tell("robustness", 4 + 2 * number, total)
        return by_user, by_schema

    def responses(self) -> nlg.Result:
        from troth.responses import answers
        from troth.responses.score import nlg

        self.tell("responses", 0, 1)
        files = [f"{name}={path(f'responses/{name}.jsonl')}" for name in GENERATORS]
        metrics = ["ser"] if "sgsacc" in self.absent else ["ser", "sgsacc"]
        found = nlg(
            path("gold"), *files, metrics=metrics, by=("act", "kind"), cache=self.cache,
            progress=lambda done, total: self.tell("responses", done, total),
        )  # fmt: skip
        counts = {one.name: one.counts for one in found.systems}
        arguments = {"gold": path("gold"), "responses": files, "metrics": ",".join(metrics)}
        self.save("responses", "nlg", arguments, found, counts, answers.of_acts(found.systems))
        self.tell("responses", 1, 1)
        return found

    def grounding(self) -> ground.Result | None:
        from troth.grounding import calibration
        from troth.grounding.metrics import Models
        from troth.grounding.score import ground
        from troth.meta.evaluate import fit
        from troth.responses import answers

        metrics = [name for name in ("nli", "u_f1", "pmi_faith") if name not in self.absent]
        quick = [name for name in metrics if name != "pmi_faith"]  # a verdict by a small language model is worth little
        self.tell("grounding", 0, 1)
        if not metrics:
            self.tell("grounding", 1, 1)
            return None
        models = Models(cache=self.cache)
        if quick:
            fitted = fit(path("documents/judged.jsonl"), metrics=quick, models=models)
            calibration.save(fitted, str(self.part / "calibration.json"))
        files = [f"{name}={path(f'documents/{name}.jsonl')}" for name in ANSWERERS]
        found = ground(
            *files, metrics=metrics, calibration=str(self.part / "calibration.json") if quick else None, models=models,
            steps=self.steps(metrics),
        )  # fmt: skip
        counts = {one.name: one.counts() for one in found.systems}
        arguments = {"data": files, "metrics": ",".join(metrics), "calibration": str(self.target / "calibration.json")}
        self.save("grounding", "ground", arguments, found, counts, answers.of_documents(found.systems))
        self.tell("grounding", 1, 1)
        return found

    def steps(self, metrics: Sequence[str]) -> Step:
        """Each metric's own steps as a share of the part."""
        return lambda name, done, total: self.tell(
            "grounding", total * metrics.index(name) + done, total * len(metrics)
        )

    def save(
        self,
        name: str,
        command: str,
        arguments: Mapping[str, Any],
        result: dst.Result | robust.Robustness | sgdx.Sensitivity | nlg.Result | ground.Result,
        counts: Mapping[str, dict[str, int]],
        dialogues: Iterator[bytes],
        details: Sequence[Any] = (),
    ) -> None:
        store.save(
            str(self.part / name), command=command, arguments=arguments, scores=result.scores, rows=result.rows(),
            counts=counts, details=details, dialogues=dialogues,
        )  # fmt: skip
        self.saved.append(name)

    def page(self) -> None:
        from troth.report import page

        self.tell("the page", 0, 1)
        sources = [self.source(name) for name in self.saved]
        page.write(page.render(page.build(sources), sources), str(self.part / PAGE))
        self.tell("the page", 1, 1)

    def source(self, name: str) -> Source:
        """A run as the page takes it, under the path that it will have."""
        from troth.report.page.model import Source
        from troth.storage import explorer

        there = self.part / name
        run = store.load(str(there))
        return Source(
            str(self.target / name), "", run.command, run.arguments, run.versions, run.counts, run.scores, run.details,
            store.rows(str(there)), explorer.read(there / explorer.NAME),
        )  # fmt: skip


# -- on disk -----------------------------------------------------------------------------------------------------------


@contextmanager
def _folder(out: str) -> Iterator[tuple[Path, Path]]:
    """A folder to fill, and the one that it takes the place of when it is whole."""
    try:
        target = _refuse(out)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            yield part, target
            part.chmod(0o755)
            _refuse(out)  # a minute has passed
            if target.exists():
                store.exchange(part, target)
            else:
                part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        hint = "is there room, and the right to? --out names another folder"
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error


def _refuse(out: str) -> Path:
    """The place of the folder. Told before any work is done: there is something that is not a demo's."""
    target = Path(os.path.abspath(out))
    hint = "choose another --out"
    if target.is_symlink():
        raise UserError("is a link", file=out, hint=hint)
    if not target.exists():
        return target
    if not target.is_dir():
        raise UserError("exists and is a file", file=out, hint=hint)
    there = sorted(item.name for item in target.iterdir())
    foreign = [name for name in there if name not in (*MADE, *RUNS)]
    if there and (foreign or not _marked(target)):
        raise UserError(f"exists and is not a demo of troth: it holds '{(foreign or there)[0]}'", file=out, hint=hint)
    store.refuse_current(target, out)
    return target


def _marked(folder: Path) -> bool:
    try:
        mark = msgspec.json.decode((folder / MARK).read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(mark, dict) and mark.get("kind") == "troth demo"
