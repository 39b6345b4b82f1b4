"""The command line: parse, call, print. Exit codes: 0 fine, 1 a gate not passed, 2 anything that went wrong."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import click

from troth.cli import streams
from troth.core.errors import EndNow, GoneError, UserError, near
from troth.core.extras import install_command
from troth.core.registry import imported
from troth.core.version import __version__

COMMANDS = {
    "dst": "troth.cli.tracking:dst",
    "explain": "troth.cli.tracking:explain",
    "check": "troth.cli.tracking:check",
    "perturb": "troth.cli:perturb",
    "robust": "troth.cli.robust:robust",
    "train": "troth.cli.train:train",
    "track": "troth.cli.track:track",
    "generate": "troth.cli.generate:generate",
    "nlg": "troth.cli.nlg:nlg",
    "ground": "troth.cli.ground:ground",
    "stress": "troth.cli.stress:stress",
    "agent": "troth.cli.agent:agent",
    "meta": "troth.cli:meta",
    "compare": "troth.cli.runs:compare",
    "gate": "troth.cli.gate:gate",
    "table": "troth.cli.runs:table",
    "merge": "troth.cli.merge:merge",
    "report": "troth.cli.report:report",
    "serve": "troth.cli.serve:serve",
    "convert": "troth.cli.data:convert",
    "models": "troth.cli.models:models",
    "cache": "troth.cli.models:cache",
    "ls": "troth.cli.data:ls",
    "completion": "troth.cli.completion:completion",
    "demo": "troth.cli.demo:demo",
}
PERTURB = {
    "dialogue": "troth.cli.perturb_dialogue:dialogue",
    "schema": "troth.cli.perturb_schema:schema",
    "stats": "troth.cli.perturb_schema:stats",
}
META = {
    "wording": "troth.cli.wording:wording",
    "rerank": "troth.cli.trials:rerank",
    "templates": "troth.cli.trials:templates",
    "annotate": "troth.cli.agreement:annotate",
    "agree": "troth.cli.agreement:agree",
    "eval": "troth.cli.meta_eval:evaluate",
    "fit": "troth.cli.fit:fit",
}


class Lazy(click.Group):
    """A group of commands that are imported when they are called, or when all are listed."""

    def __init__(self, *args: Any, paths: Mapping[str, str], **kwargs: Any) -> None:
        """`paths`: name to import path, in the order in which help lists the commands."""
        super().__init__(*args, **kwargs)
        self.paths = paths

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.paths)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        command: click.Command | None = imported(self.paths[name]) if name in self.paths else None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in self.paths and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no command is called '{name}'. {near(name, self.paths) or ''}".strip(), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Lazy, paths=COMMANDS, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="troth")
def app() -> None:
    """Measures whether a dialogue system can be trusted: state tracking, robustness, faithfulness."""


@click.group(cls=Lazy, paths=PERTURB, no_args_is_help=True)
def perturb() -> None:
    """Reword dialogues or schemas, to test whether a system still gets them right."""


@click.group(cls=Lazy, paths=META, no_args_is_help=True)
def meta() -> None:
    """Test metrics themselves: with tampered acts, reworded schemas and labels by people."""


def main() -> None:
    """Runs a command. What goes wrong is reported in one line on standard error, with exit code 2."""
    # Records hold no cycles, so counting references frees them; the collector would only walk them.
    gc.disable()
    try:
        streams.prepare()
        code = app.main(prog_name="troth", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        code = _failed(str(error))
    except click.exceptions.NoArgsIsHelpError as help:
        sys.stderr.write(help.format_message() + "\n")
        code = 2
    except click.ClickException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "troth")
        code = _failed(str(UserError(error.format_message(), hint=f"see {command} --help")))
    except EndNow:
        _failed("interrupted")
        streams.finish()
        os._exit(130)
    except (KeyboardInterrupt, click.Abort):
        code = _failed("interrupted", 130)
    except GoneError:  # whoever read our output has seen enough (`| head`): no error
        code = 141
    except ModuleNotFoundError as error:
        code = _not_installed(error)
    except MemoryError:
        code = _failed("out of memory (fewer workers take less)")
    except SystemExit as end:  # click's, where a pipe other than standard output is closed, or completion failed
        code = 2 if end.code else 0
    except BaseException as error:  # noqa: BLE001 (a panic of a library in Rust is no Exception)
        code = _crashed(error)
    streams.finish()
    sys.exit(code or 0)


def _failed(line: str, code: int = 2) -> int:
    sys.stderr.write(f"troth: {line}\n")
    return code


def _not_installed(error: ModuleNotFoundError) -> int:
    """A library that an extra brings; one of ours that is missing is a mistake."""
    if not error.name or error.name.partition(".")[0] == "troth":
        return _crashed(error)
    return _failed(str(UserError(f"{error.name} is not installed", hint=_bringing(error.name.partition(".")[0]))))


def _bringing(module: str) -> str:
    """The command that installs a library: the extra that has it, or the library itself."""
    from importlib.metadata import requires

    name = module.replace("_", "-").lower()
    for line in requires("troth") or ():
        extra = re.search(r"""extra == ["'](\w+)["']""", line)
        if extra and extra[1] not in ("dev", "docs") and line.lower().startswith(name):
            return install_command(extra[1])
    return f"pip install {name}"


def _crashed(error: BaseException) -> int:
    """Reports a mistake of ours. Exit code 1 would be a gate's verdict, so it is 2."""
    import traceback

    if os.environ.get("TROTH_DEBUG"):
        sys.stderr.write("".join(traceback.format_exception(error)))
    place = traceback.extract_tb(error.__traceback__)[-1:]
    what = f"internal error: {type(error).__name__}: {error}"
    where = f" at {os.path.basename(place[0].filename)}:{place[0].lineno}" if place else ""
    return _failed(str(UserError(f"{what}{where}", hint="TROTH_DEBUG=1 shows the traceback; please report it")))
