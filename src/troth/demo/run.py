"""The demo: all evaluations on the bundled files, with the embedded models, offline.

The trackers that come with troth run on the bundled dialogues, on perturbed twins of them and under reworded schemas.
Where they cannot run, made-up predictions take their place. The systems that respond and answer are made up. Metrics
that this installation cannot compute are left out. `Demo.left_out` says all that, and how to get it. The folder holds
the runs, their inputs (perturbed dialogues, reworded schemas, predictions, a calibration) and the page. It appears
whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.extras import install_command
from troth.core.result import Result
from troth.core.version import __version__
from troth.demo import path
from troth.demo.lines import PROFILE, VARIANTS, Results, explain_command, summary_lines
from troth.models import DEFAULT_CACHE
from troth.storage import files

TRACKERS = ("troth-track", "troth-track-robust")  # run live
ABOUT_TRACKERS = (
    "troth-track and troth-track-robust are the same kind of tracker, trained on the same dialogues. "
    "troth-track-robust was also trained on schemas in other words, unknown names, hesitations and paraphrases."
)
MADE_UP = ("hasty", "sturdy")  # their predictions are bundled, and follow from rules
GENERATORS = ("terse", "fluent")
ANSWERERS = ("careful", "chatty")
TWINS = {"NED": "entities", "SDI": "disfluency", "PI": "paraphrase"}
RECIPES = (PROFILE, "sgd", "sgd-exact", "nemo", "mwzeval", "checkdst")
LM = "smollm2-135m-instruct"

MARK = "demo.json"  # in the folder: it is ours to replace
PAGE = "report.html"
MADE = (MARK, PAGE, "calibration.json", "perturbed", "reworded", "predictions")
RUNS = ("tracking", *(f"robust-{n}" for n in TRACKERS), *(f"wording-{n}" for n in TRACKERS), "responses", "grounding")
OTHER_RUNS = (*(f"robust-{name}" for name in MADE_UP), *(f"wording-{name}" for name in MADE_UP))  # in their place
PARTS = ("trackers", "state tracking", "robustness", "responses", "grounding", "the page")


class Bundle(NamedTuple):
    """Bundled dialogues for trackers."""

    gold: str
    paraphrases: str  # of their schema
    names: str  # slots that hold names of places and shows


LIVE = Bundle(
    "live",
    "wordings/live.json",
    "restaurant_name,event_name,city,from_city,to_city,town,destination,district,branch,practice_name,shop_name,"
    "site_name,teacher_name",
)
WRITTEN = Bundle("gold", "wordings/paraphrases.json", "hotel_name,sight_name,from_station,to_station")

Step = Callable[[str], None]  # called with the name of each part when it begins
Predictions = dict[str, dict[str, str]]  # by tracker, then by test set


@dataclass(frozen=True)
class Demo:
    """Files and findings of the demo."""

    folder: str
    page: str  # its address
    found: list[str]  # five lines
    left_out: list[str]  # what this installation does not have, and how to get it
    next: str  # a command to try
    results: Results = field(repr=False)


def find_missing() -> dict[str, str]:
    """Metrics that cannot be computed here, and how to get them."""
    from troth.models import catalog

    absent: dict[str, str] = {}
    if not _installed("onnxruntime", "tokenizers"):
        absent |= dict.fromkeys(("trackers", "sgsacc", "nli"), install_command("nli"))
    if not _installed("spacy"):
        absent["u_f1"] = install_command("text")
    if not _installed("torch", "transformers"):
        absent["pmi_faith"] = f"{install_command('neural')} && troth models fetch"
    elif not any(status.name == LM and status.here for status in catalog.all_models()):
        absent["pmi_faith"] = "troth models fetch"
    return absent


def _installed(*modules: str) -> bool:
    return all(find_spec(name) is not None for name in modules)


def install_hints(absent: Mapping[str, str]) -> list[str]:
    """One line for each command that would add something, with all that it adds."""
    titles = {
        "trackers": "trackers that run (here, hasty and sturdy are made up, and their predictions follow from rules)",
        "sgsacc": "SGSAcc",
        "nli": "entailment",
        "u_f1": "U-F1",
        "pmi_faith": "PMI-Faith",
    }
    ways: dict[str, list[str]] = {}
    for metric, way in absent.items():
        ways.setdefault(way, []).append(titles[metric])
    return [
        f"left out: {', '.join(names[:-1])}{' and ' if names[1:] else ''}{names[-1]}; "
        f"to get {'them' if names[1:] else 'it'}: {way}"
        for way, names in ways.items()
    ]


def write_twins(bundle: Bundle, folder: Path) -> dict[str, Path]:
    """Writes the dialogues in other words; returns their folders by CheckDST's name of the perturbation."""
    from troth.perturb.users.run import perturb

    for label, family in TWINS.items():
        options = {"slots": bundle.names.split(",")} if family == "entities" else {}
        perturb(path(bundle.gold), folder / label, with_={family: options})
    return {label: folder / label for label in TWINS}


def write_wordings(bundle: Bundle, folder: Path) -> list[str]:
    """Writes reworded schemas; returns the variants' names."""
    from troth.perturb.schemas.run import vary

    composed = {"paraphrases": path(bundle.paraphrases), "count": VARIANTS}
    return [written.variant for written in vary(path(bundle.gold), folder, with_={"compose": composed})]


def demo(out: str | os.PathLike[str], *, step: Step = lambda _: None, cache: str | None = DEFAULT_CACHE) -> Demo:
    """Runs everything and writes it to the folder `out`, which may be that of an earlier demo and nothing else."""
    folder, absent = os.fspath(out), find_missing()
    if Path(folder).is_symlink():
        raise UserError("is a link", file=folder, hint=files.OTHER_NAME)
    with files.replaced_folder(folder, _foreign_content) as part:
        work = _Work(part, Path(os.path.abspath(folder)), absent, step, cache)
        results = work.results()
        lines = summary_lines(results)
        mark = {"kind": "troth demo", "version": __version__, "found": lines, "left_out": install_hints(absent)}
        (part / MARK).write_bytes(msgspec.json.format(msgspec.json.encode(mark), indent=1) + b"\n")
    return Demo(
        folder, (work.target / PAGE).as_uri(), lines, install_hints(absent), explain_command(results.tracking), results
    )


def _foreign_content(folder: Path) -> str | None:
    """Describes content of the folder that does not belong to a demo."""
    if not folder.is_dir():
        return "is a file"
    there = sorted(item.name for item in folder.iterdir())
    foreign = [name for name in there if name not in (*MADE, *RUNS) and name not in OTHER_RUNS]
    if there and (foreign or not _is_demo(folder)):
        return f"is not a demo of troth: it holds '{(foreign or there)[0]}'"
    return None


def _is_demo(folder: Path) -> bool:
    try:
        mark = msgspec.json.decode((folder / MARK).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(mark, dict) and mark.get("kind") == "troth demo"


@dataclass
class _Work:
    """The parts one after the other, each written as its command writes it."""

    part: Path  # where the folder is made
    target: Path  # where it will lie
    absent: Mapping[str, str]
    step: Step
    cache: str | None
    saved: list[Result] = field(default_factory=list)

    @property
    def bundle(self) -> Bundle:
        return WRITTEN if "trackers" in self.absent else LIVE

    def results(self) -> Results:
        from troth.report.write import report

        sets, variants = (
            write_twins(self.bundle, self.part / "perturbed"),
            write_wordings(self.bundle, self.part / "reworded"),
        )
        preds = self.predictions(sets, variants)
        results = Results(
            self.tracking(preds), *self.robustness(preds, sets, variants), self.responses(), self.grounding()
        )
        self.step("the page")
        report(*self.saved, out=self.part / PAGE, about="" if "trackers" in self.absent else ABOUT_TRACKERS)
        return results

    def save(self, name: str, result: Result) -> Result:
        """Saves a run under the paths that the folder will have."""
        arguments = {key: self.moved(value) for key, value in result.arguments.items()}
        named = replace(result, arguments=arguments, make_explorer=_keep_explorer(result))
        named.save(self.part / name)
        self.saved.append(named)
        return named

    def moved(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(str(self.part), str(self.target))
        return [self.moved(one) for one in value] if isinstance(value, list) else value

    def predictions(self, sets: Mapping[str, Path], variants: Sequence[str]) -> Predictions:
        """Predictions of the trackers, or the bundled ones where trackers cannot run."""
        self.step("trackers")
        if "trackers" in self.absent:
            return {
                name: {"orig": path(name)}
                | {label: path(f"twins/{name}-{label}.jsonl") for label in sets}
                | {label: path(f"wordings/{name}-{label}.jsonl") for label in variants}
                for name in MADE_UP
            }
        from troth.engine import parallel_map
        from troth.systems.track import track

        there = {**sets} | {label: self.part / "reworded" / label for label in variants}
        asked = ["orig", *(f"{label}={folder}" for label, folder in there.items())]

        def follow(name: str) -> dict[str, str]:
            done = track(name, path(self.bundle.gold), self.part / "predictions" / name, sets=asked)
            return {one.name: one.predictions for one in done}

        return dict(zip(TRACKERS, parallel_map(follow, TRACKERS, 0), strict=True))

    def tracking(self, preds: Predictions) -> Result:
        from troth.tracking.score import dst

        self.step("state tracking")
        systems = [f"{name}={mine['orig']}" for name, mine in preds.items()]
        return self.save("tracking", dst(path(self.bundle.gold), *systems, profile=RECIPES))

    def robustness(
        self, preds: Predictions, sets: Mapping[str, Path], variants: Sequence[str]
    ) -> tuple[list[Result], list[Result]]:
        from troth.robustness.checkdst import checkdst
        from troth.robustness.sgdx import sgdx

        self.step("robustness")
        by_user, by_schema = [], []
        for name, mine in preds.items():
            on_twins = {label: (there, mine[label]) for label, there in sets.items()}
            consistency = checkdst(
                (path(self.bundle.gold), mine["orig"]), on_twins, name=name, profile=PROFILE, slots=self.bundle.names
            )
            worded = {label: mine[label] for label in (*variants, "orig")}
            sensitivity = sgdx(
                path(self.bundle.gold), worded, schemas=self.part / "reworded", name=name, profile=PROFILE, by="service"
            )
            by_user.append(self.save(f"robust-{name}", consistency))
            by_schema.append(self.save(f"wording-{name}", sensitivity))
        return by_user, by_schema

    def responses(self) -> Result:
        from troth.responses.score import nlg

        self.step("responses")
        systems = [f"{name}={path(f'responses/{name}.jsonl')}" for name in GENERATORS]
        metrics = "ser" if "sgsacc" in self.absent else "ser,sgsacc"
        return self.save("responses", nlg(path("gold"), *systems, metrics=metrics, by="act,kind", cache=self.cache))

    def grounding(self) -> Result | None:
        from troth.grounding.score import ground
        from troth.meta.labels.evaluate import fit

        self.step("grounding")
        metrics = [name for name in ("nli", "u_f1", "pmi_faith") if name not in self.absent]
        quick = [name for name in metrics if name != "pmi_faith"]  # a verdict by a small language model is worth little
        if not metrics:
            return None
        calibration = self.part / "calibration.json" if quick else None
        if calibration is not None:
            fit(path("documents/judged.jsonl"), metrics=quick, cache=self.cache, out=calibration)
        systems = [f"{name}={path(f'documents/{name}.jsonl')}" for name in ANSWERERS]
        return self.save("grounding", ground(*systems, metrics=metrics, calibration=calibration, cache=self.cache))


def _keep_explorer(result: Result) -> Callable[[], Any] | None:
    """The explorer's records as lists, which the run folder and the page both read."""
    from troth.storage.explorer import Archive

    if result.make_explorer is None:
        return None
    archive = result.explorer()
    held = Archive(archive.header, list(archive.dialogues), list(archive.responses))
    return lambda: held
