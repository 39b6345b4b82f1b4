"""troth tells whether a dialogue system is true, and helps to make it so.

    import troth
    result = troth.dst("gold/", "predictions/")
    result["jga"].value, result.frame()

Names are loaded on first use, so that `import troth` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from troth.errors import UserError as UserError
    from troth.generate.rerank import Choice as Choice
    from troth.generate.rerank import Nbest as Nbest
    from troth.generate.rerank import rerank as rerank
    from troth.generate.rerank import rerank_all as rerank_all
    from troth.metrics.profiles import PROFILES as PROFILES
    from troth.metrics.profiles import Profile as Profile
    from troth.metrics.profiles import profile as profile
    from troth.records import Score as Score
    from troth.runner.agreement import agree as agree
    from troth.runner.annotate import annotate as annotate
    from troth.runner.check import check as check
    from troth.runner.compare import compare as compare
    from troth.runner.compare import gate as gate
    from troth.runner.compare import sides as sides
    from troth.runner.compute import load as load
    from troth.runner.dst import Result as Result
    from troth.runner.dst import dst as dst
    from troth.runner.experiments import to_mlflow as to_mlflow
    from troth.runner.experiments import to_wandb as to_wandb
    from troth.runner.explain import explain as explain
    from troth.runner.ground import ground as ground
    from troth.runner.meta_eval import fit as fit
    from troth.runner.meta_eval import meta_eval as meta_eval
    from troth.runner.nlg import nlg as nlg
    from troth.runner.wording import judge as judge
    from troth.runner.wording import wording as wording
    from troth.scorers.grounded import Models as Models

_HOME = {
    "UserError": "troth.errors",
    "rerank_all": "troth.generate.rerank",
    "rerank": "troth.generate.rerank",
    "Nbest": "troth.generate.rerank",
    "Choice": "troth.generate.rerank",
    "PROFILES": "troth.metrics.profiles",
    "Profile": "troth.metrics.profiles",
    "profile": "troth.metrics.profiles",
    "Score": "troth.records",
    "agree": "troth.runner.agreement",
    "annotate": "troth.runner.annotate",
    "check": "troth.runner.check",
    "compare": "troth.runner.compare",
    "gate": "troth.runner.compare",
    "sides": "troth.runner.compare",
    "load": "troth.runner.compute",
    "Result": "troth.runner.dst",
    "dst": "troth.runner.dst",
    "to_mlflow": "troth.runner.experiments",
    "to_wandb": "troth.runner.experiments",
    "explain": "troth.runner.explain",
    "ground": "troth.runner.ground",
    "fit": "troth.runner.meta_eval",
    "meta_eval": "troth.runner.meta_eval",
    "Models": "troth.scorers.grounded",
    "nlg": "troth.runner.nlg",
    "judge": "troth.runner.wording",
    "wording": "troth.runner.wording",
}
__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'troth' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
