"""troth measures whether a dialogue system can be trusted, and helps to make it so.

    import troth

    result = troth.dst("gold/", "predictions/")     # state tracking; checkdst and sgdx: robustness
    result["jga"].value, result.frame()             # nlg: responses; ground: answers from documents; agent: calls
    result.save("runs/new")
    troth.compare("runs/old", "runs/new")           # or gate, report, table
    troth.open("runs/new")

Every task returns a `Result`. Names are imported on first use, so `import troth` is fast. Further functions are in the
packages: `troth.meta` (can a metric be trusted?), `troth.models`, `troth.perturb`, `troth.readers`, `troth.stats`,
`troth.integrations`. Type checkers read `__init__.pyi`, which `python -m docs_build.stub` writes.
"""

from __future__ import annotations

from typing import Any

from troth.core.version import __version__ as __version__

_NAMES = {
    "Metric": "troth.core.metric",
    "PROFILES": "troth.tracking.profiles",
    "Profile": "troth.tracking.profiles",
    "Result": "troth.core.result",
    "Score": "troth.core.score",
    "UserError": "troth.core.errors",
    "agent": "troth.agents.score",
    "apply_gates": "troth.report.gates",
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
    "multiwoz": "troth.responses.multiwoz.score",
    "nlg": "troth.responses.score",
    "open": "troth.storage.runs",
    "record_run": "troth.storage.history",
    "respond": "troth.systems.generators.respond",
    "run_agent": "troth.agents.live.run",
    "sgdx": "troth.robustness.sgdx",
    "slot_errors": "troth.tracking.slot_errors",
    "stress_ground": "troth.meta.trials.stress",
    "table": "troth.report.tables",
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
