"""troth tells whether a dialogue system is true, and helps to make it so.

    import troth
    result = troth.dst("gold/", "predictions/")
    result["jga"].value, result.frame()

Names are loaded on first use, so that `import troth` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from troth.core.version import __version__ as __version__

if TYPE_CHECKING:
    from troth.core.errors import UserError as UserError
    from troth.core.score import Score as Score
    from troth.grounding.metrics import Models as Models
    from troth.grounding.score import ground as ground
    from troth.integrations.evaluate import load as load
    from troth.integrations.experiments import to_mlflow as to_mlflow
    from troth.integrations.experiments import to_wandb as to_wandb
    from troth.meta.agreement import agree as agree
    from troth.meta.annotate import annotate as annotate
    from troth.meta.evaluate import fit as fit
    from troth.meta.evaluate import meta_eval as meta_eval
    from troth.meta.wording import judge as judge
    from troth.meta.wording import wording as wording
    from troth.report.compare import compare as compare
    from troth.report.compare import gate as gate
    from troth.report.compare import sides as sides
    from troth.responses.rerank import Choice as Choice
    from troth.responses.rerank import Nbest as Nbest
    from troth.responses.rerank import rerank as rerank
    from troth.responses.rerank import rerank_all as rerank_all
    from troth.responses.score import nlg as nlg
    from troth.tracking.check import check as check
    from troth.tracking.explain import explain as explain
    from troth.tracking.profiles import PROFILES as PROFILES
    from troth.tracking.profiles import Profile as Profile
    from troth.tracking.profiles import profile as profile
    from troth.tracking.score import Result as Result
    from troth.tracking.score import dst as dst

_HOME = {
    "UserError": "troth.core.errors",
    "rerank_all": "troth.responses.rerank",
    "rerank": "troth.responses.rerank",
    "Nbest": "troth.responses.rerank",
    "Choice": "troth.responses.rerank",
    "PROFILES": "troth.tracking.profiles",
    "Profile": "troth.tracking.profiles",
    "profile": "troth.tracking.profiles",
    "Score": "troth.core.records",
    "agree": "troth.meta.agreement",
    "annotate": "troth.meta.annotate",
    "check": "troth.tracking.check",
    "compare": "troth.report.compare",
    "gate": "troth.report.compare",
    "sides": "troth.report.compare",
    "load": "troth.integrations.evaluate",
    "Result": "troth.tracking.score",
    "dst": "troth.tracking.score",
    "to_mlflow": "troth.integrations.experiments",
    "to_wandb": "troth.integrations.experiments",
    "explain": "troth.tracking.explain",
    "ground": "troth.grounding.score",
    "fit": "troth.meta.evaluate",
    "meta_eval": "troth.meta.evaluate",
    "Models": "troth.grounding.metrics",
    "nlg": "troth.responses.score",
    "judge": "troth.meta.wording",
    "wording": "troth.meta.wording",
}
__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
