"""troth measures whether a dialogue system can be trusted, and helps to make it so.

    import troth

    result = troth.dst("gold/", "predictions/")     # state tracking; checkdst and sgdx: robustness
    result["jga"].value, result.frame()             # nlg: responses; ground: answers from documents; agent: calls
    result.save("runs/new")
    troth.compare("runs/old", "runs/new")           # or gate, report
    troth.open("runs/new")

Every task returns a `Result`. Names are imported on first use, so that `import troth` costs nothing. What is not here
is in the packages: `troth.meta` (can a metric be trusted?), `troth.models`, `troth.perturb`, `troth.readers`,
`troth.stats`, `troth.integrations`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from troth.core.version import __version__ as __version__

if TYPE_CHECKING:
    from troth import demo as demo
    from troth import integrations as integrations
    from troth import meta as meta
    from troth import models as models
    from troth import readers as readers
    from troth import stats as stats
    from troth.agents.live.run import run_agent as run_agent
    from troth.agents.score import agent as agent
    from troth.core.errors import UserError as UserError
    from troth.core.metric import Metric as Metric
    from troth.core.result import Result as Result
    from troth.core.score import Score as Score
    from troth.grounding.score import ground as ground
    from troth.integrations.evaluate import load as load
    from troth.meta.trials.stress import stress_ground as stress_ground
    from troth.perturb.users.run import perturb as perturb
    from troth.report.compare import compare as compare
    from troth.report.compare import gate as gate
    from troth.report.compare import level_gate as level_gate
    from troth.report.merge import merge as merge
    from troth.report.write import report as report
    from troth.responses.score import nlg as nlg
    from troth.robustness.checkdst import checkdst as checkdst
    from troth.robustness.sgdx import sgdx as sgdx
    from troth.storage.runs import open as open  # noqa: A004
    from troth.systems.generators.grounded import train_grounded as train_grounded
    from troth.systems.generators.respond import respond as respond
    from troth.systems.generators.train import train_response as train_response
    from troth.systems.track import track as track
    from troth.systems.train import train_tracker as train_tracker
    from troth.tracking.check import check as check
    from troth.tracking.explain import explain as explain
    from troth.tracking.profiles import PROFILES as PROFILES
    from troth.tracking.profiles import Profile as Profile
    from troth.tracking.score import dst as dst

_NAMES = {
    "Metric": "troth.core.metric",
    "PROFILES": "troth.tracking.profiles",
    "Profile": "troth.tracking.profiles",
    "Result": "troth.core.result",
    "Score": "troth.core.score",
    "UserError": "troth.core.errors",
    "agent": "troth.agents.score",
    "check": "troth.tracking.check",
    "checkdst": "troth.robustness.checkdst",
    "compare": "troth.report.compare",
    "dst": "troth.tracking.score",
    "explain": "troth.tracking.explain",
    "gate": "troth.report.compare",
    "level_gate": "troth.report.compare",
    "ground": "troth.grounding.score",
    "load": "troth.integrations.evaluate",
    "merge": "troth.report.merge",
    "nlg": "troth.responses.score",
    "open": "troth.storage.runs",
    "respond": "troth.systems.generators.respond",
    "run_agent": "troth.agents.live.run",
    "sgdx": "troth.robustness.sgdx",
    "stress_ground": "troth.meta.trials.stress",
    "track": "troth.systems.track",
    "train_grounded": "troth.systems.generators.grounded",
    "train_response": "troth.systems.generators.train",
    "train_tracker": "troth.systems.train",
}
_PACKAGES = ("demo", "integrations", "meta", "models", "perturb", "readers", "report", "stats")  # two can be called
__all__ = ["__version__", *_NAMES, *_PACKAGES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PACKAGES:
        return import_module(f"troth.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'troth' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
