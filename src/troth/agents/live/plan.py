"""What a live run is to do: its options, the conversations that it replays, and the wordings of its tools and users."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as Folder
from typing import Any, NamedTuple

import msgspec

from troth.agents import corpus as corpora
from troth.agents.forbidden import json_schema
from troth.agents.live.endpoint import KEY
from troth.agents.live.replay import Recording, ToolWording, make_recordings, openai_tools
from troth.agents.live.summary import ORIGINAL
from troth.agents.live.users import reword_users
from troth.core.data_options import format_option
from troth.core.decode import is_too_deep
from troth.core.digest import joined_digest
from troth.core.errors import UserError
from troth.core.names import Path, parse_names, path_of
from troth.core.options import option, seed_option
from troth.core.trajectories import Tool
from troth.perturb.schemas import calls as renamed_calls
from troth.perturb.schemas.calls import NAMES, FunctionNames
from troth.perturb.schemas.files import variant_names
from troth.readers import tools as tool_readers
from troth.readers.digests import content_digest

SAFE = re.compile(r"[^A-Za-z0-9_-]")  # what OpenAI's API does not take in the name of a function
MAKE = "make them with: troth perturb schema TOOLS FOLDER --make paraphrase"


@dataclass(frozen=True)
class RunAgentSettings:
    tools: Path | None = option(None, "Definitions of the tools, where the recordings have none.", "FILE")
    variants: str | Iterable[str] | None = option(
        None, "Rewordings of the tools, for example v1..v3 or v1,v3.", "NAMES"
    )
    from_: Path | None = option(
        None,
        "Folder with the rewordings, as `troth perturb schema` wrote it. Default: the folder of the tools.",
        "FOLDER",
    )
    users: Any = option(
        (), "Rewordings of the users, for example disfluency,paraphrase.", "NAMES",
        complete=("troth.perturb.users:FAMILIES",),
    )  # fmt: skip
    trials: int = option(1, "How often each task is replayed in each wording.", least=1)
    limit: int | None = option(None, "Replay the first N tasks only.", "N", least=1)
    gold: Path | Sequence[Path] | None = option(
        None, "File with the expected calls, where the recordings have none; may be given several times.", "FILE",
        repeat=True,
    )  # fmt: skip
    format: str | None = format_option("the recordings", "troth.readers.trajectories:FORMATS")
    budget: str | int | None = option(None, "Most that this run may ask: 500, 500calls or 200ktokens.", "N")
    parallel: int = option(4, "Number of concurrent conversations.", least=1)
    steps: int = option(10, "Most messages of the assistant in one turn.", least=1)
    temperature: float = option(0.0, "Sampling temperature.", "T", least=0, most=2)
    timeout: float = option(120.0, "Longest time for a whole answer.", "SECONDS", least=0.001)
    retries: int = option(
        2, "How often to ask again when the server fails, hangs or returns an invalid answer.", least=0
    )
    key_variable: str = option(
        KEY, "Environment variable with the key of the server; the key itself is never written.", shape="python"
    )
    seed: int = seed_option(
        "Random seed of the rewordings and of the tests. A request sends it plus the number of its trial."
    )
    out: Path = option("agent-run", "Folder of the run; resumed if it already exists.", "FOLDER")


class WordingSet(NamedTuple):
    """One wording of tools and users, in which every task is replayed."""

    name: str
    wording: ToolWording | None  # None: each task has tools of its own
    users: Mapping[str, tuple[str, ...]]  # task to what its user says; others: as recorded


class RunPlan(NamedTuple):
    """Every task of `recordings` is replayed in every one of `sets`."""

    agent: str
    recordings: list[Recording]
    own_tools: dict[str, ToolWording]  # by task, where the tools are not the same for all
    sets: list[WordingSet]
    identity: dict[str, str]  # what a folder must share to be resumed
    deep_tools: int = 0  # tools that are sent without their parameters, which are nested too deeply

    def wording(self, wording_set: WordingSet, task: str) -> ToolWording:
        return wording_set.wording or self.own_tools[task]

    @property
    def wordings(self) -> list[ToolWording]:
        return [
            wording_set.wording
            for wording_set in self.sets
            if wording_set.wording is not None and not wording_set.users
        ]

    @property
    def users(self) -> list[str]:
        return [wording_set.name for wording_set in self.sets if wording_set.users]


def make_plan(agent: str, tasks: str, settings: RunAgentSettings) -> RunPlan:
    """Reads tasks, tools and rewordings; everything that can be wrong with them is found here."""
    tools = None if settings.tools is None else path_of(settings.tools)
    corpus = corpora.load([("tasks", tasks)], corpora.gold_files(settings.gold), tools, settings.format)
    trials = [msgspec.structs.replace(one, expected=corpus.gold(one)) for one in corpus.systems[0].trials]
    if not (replayable := [one for one in make_recordings(trials) if one.users][: settings.limit]):
        raise UserError("no user says anything in it", file=tasks, hint="is it the right file?")
    own = {one.unit: _original(one.tools or corpus.tasks[one.unit].tools) for one in trials}
    original = None if tools is None else _original(corpus.tools)
    variants = parse_names(settings.variants)
    names = variant_names(",".join(variants)) if variants else []
    if names and tools is None:
        raise UserError("rewordings of the tools need the tools", hint="name the file that they were made from")
    where = Folder(path_of(settings.from_)) if settings.from_ is not None else Folder(tools or ".").parent
    sets = [WordingSet(ORIGINAL, original, {})]
    sets += [WordingSet(name, _variant(where / name, name, corpus.tools), {}) for name in names]
    said = reword_users(replayable, settings.users, seed=settings.seed)
    sets += [WordingSet(name, original, users) for name, users in said.items()]
    if len({one.name for one in sets}) < len(sets):
        raise UserError("two sets have one name", hint="rewordings of tools and users need different names")
    identity = {
        "agent": agent,
        "tasks": content_digest(tasks),
        "tools": "" if tools is None else content_digest(tools),
        "gold": joined_digest(map(content_digest, corpora.gold_files(settings.gold))),
        "temperature": str(settings.temperature),
        "steps": str(settings.steps),
        "seed": str(settings.seed),
    }
    tools_by_id = {id(t): t for one in trials for t in (*corpus.tools, *one.tools, *corpus.tasks[one.unit].tools)}
    deep = len({tool.name for tool in tools_by_id.values() if is_too_deep(tool.parameters)})
    return RunPlan(agent, replayable, own, sets, identity, deep)


def _original(tools: Sequence[Tool]) -> ToolWording:
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": _parameters(tool.parameters)}
        for tool in tools
    ]
    return _wording(ORIGINAL, functions, {})


def _variant(folder: Folder, name: str, tools: Sequence[Tool]) -> ToolWording:
    """A rewording of these tools that `troth perturb schema` wrote."""
    file = folder / "tools.json"
    if not file.is_file():
        raise UserError(f"there is no rewording '{name}' of the tools", file=str(file), hint=MAKE)
    wording = _original(tool_readers.load(str(file)))
    names = renamed_calls.load(folder / NAMES)
    if {function.name for function in names.values()} != {tool.name for tool in tools}:
        raise UserError("is a rewording of other tools", file=str(file), hint=MAKE)
    return _wording(name, [tool["function"] for tool in wording.tools], names)


def _wording(name: str, functions: Sequence[dict[str, Any]], names: Mapping[str, FunctionNames]) -> ToolWording:
    """Tools as they are sent. A name that the API does not take (`math.add`) is sent as `math_add`."""
    back = dict(names)
    sent = []
    for function in functions:
        if (safe := SAFE.sub("_", function["name"])) != function["name"]:
            back[safe] = back.pop(function["name"], FunctionNames(function["name"]))
        sent.append({**function, "name": safe})
    return ToolWording(name, openai_tools(sent), back)


def _parameters(schema: dict[str, Any]) -> Any:
    return (json_schema(schema) if not is_too_deep(schema) else None) or {"type": "object", "properties": {}}
