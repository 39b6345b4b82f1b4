"""The command line: parse, call, print. Exit codes: 0 success, 1 a gate not passed, 2 any error."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from troth.cli import streams
from troth.core.errors import ImmediateExit, OutputClosedError, UserError, suggest_name
from troth.core.extras import install_command
from troth.core.registry import import_path
from troth.core.version import __version__


def _locate(paths: str) -> dict[str, str]:
    """Names of commands to their import paths, which are written without `troth.cli`."""
    return {path.rpartition(":")[2]: f"troth.cli{path}" for path in paths.split()}


SECTIONS = {  # of `troth --help`
    "Measure": _locate(
        ".tracking:dst .tracking:check .tracking:explain .nlg:nlg .multiwoz:multiwoz "
        ".ground:ground .agent:agent .demo:demo"
    ),
    "Stress": _locate(":perturb .robust:robust .stress:stress :meta"),
    "Improve": _locate(".train:train .track:track .generate:generate"),
    "Compare and report": _locate(".runs:compare .gate:gate .runs:table .merge:merge .report:report"),
    "Models and data": _locate(
        ".models:models .models:cache .serve:serve .data:convert .data:ls .completion:completion"
    ),
}
COMMANDS = {name: path for commands in SECTIONS.values() for name, path in commands.items()}
PERTURB = _locate(
    ".perturb_dialogue:dialogue .perturb_schema:schema .perturb_schema:stats .perturb_schema:sheets "
    ".perturb_schema:collect"
)
META = {
    **_locate(".wording:wording .trials:rerank .trials:templates .agreement:annotate .agreement:agree"),
    "eval": "troth.cli.meta_eval:evaluate",
    "fit": "troth.cli.fit:fit",
}


RENAMED = {"--flips": "--examples", "--units": "--examples", "--places": "--examples", "--engine": "--on"}


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called, or when all are listed."""

    def __init__(
        self, *args: Any, paths: Mapping[str, str], sections: Mapping[str, Iterable[str]] | None = None, **kwargs: Any
    ) -> None:
        """`paths`: name to import path, in the order of the help text. `sections`: headings of the help text."""
        super().__init__(*args, **kwargs)
        self.paths, self.sections = paths, sections or {"Commands": paths}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(self.paths)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        command: click.Command | None = import_path(self.paths[name]) if name in self.paths else None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.paths))
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self._summary(ctx, name)) for name in names])

    def _summary(self, ctx: click.Context, name: str) -> str:
        """The first sentence of a command's help, whole."""
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(limit=1000)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in self.paths and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(
                f"no command is called '{name}'. {suggest_name(name, self.paths) or ''}".strip(), ctx
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    paths=COMMANDS,
    sections=SECTIONS,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="troth")
def app() -> None:
    """Measure whether a dialogue system can be trusted."""


@click.group(cls=LazyGroup, paths=PERTURB, no_args_is_help=True)
def perturb() -> None:
    """Reword dialogues or schemas, to test a system on them."""


@click.group(cls=LazyGroup, paths=META, no_args_is_help=True)
def meta() -> None:
    """Test metrics themselves: by labels, tampering and rewording."""


def main() -> None:
    """Runs a command. An error is reported in one line on standard error, with exit code 2."""
    # Records contain no cycles: reference counting frees them, and the garbage collector would only cost time.
    gc.disable()
    try:
        streams.prepare()
        code = app.main(prog_name="troth", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        code = _fail(str(error))
    except click.exceptions.NoArgsIsHelpError as help:
        sys.stderr.write(help.format_message() + "\n")
        code = 2
    except click.ClickException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "troth")
        code = _fail(str(UserError(_name_new_flag(error), hint=f"see {command} --help")))
    except ImmediateExit:
        _fail("interrupted")
        streams.finish()
        os._exit(130)
    except (KeyboardInterrupt, click.Abort):
        code = _fail("interrupted", 130)
    except OutputClosedError:  # the reader of our output has closed it (`| head`): no error
        code = 141
    except ModuleNotFoundError as error:
        code = _report_missing(error)
    except MemoryError:
        code = _fail("out of memory (fewer workers take less)")
    except SystemExit as end:  # of click: a pipe other than standard output is closed, or completion failed
        code = 2 if end.code else 0
    except BaseException as error:  # noqa: BLE001 (a panic of a Rust library is not an Exception)
        code = _report_crash(error)
    streams.finish()
    sys.exit(code or 0)


def _name_new_flag(error: click.ClickException) -> str:
    """The message of an error; for an option that had another name before, what it is called now."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        new = RENAMED.get(error.option_name)
        if any(new in parameter.opts for parameter in error.ctx.command.params):
            return f"{error.option_name} is now called {new}."
    return error.format_message()


def _fail(line: str, code: int = 2) -> int:
    sys.stderr.write(f"troth: {line}\n")
    return code


def _report_missing(error: ModuleNotFoundError) -> int:
    """Reports a missing library; a missing module of troth itself is a bug."""
    if not error.name or error.name.partition(".")[0] == "troth":
        return _report_crash(error)
    return _fail(str(UserError(f"{error.name} is not installed", hint=_install_command(error.name.partition(".")[0]))))


def _install_command(module: str) -> str:
    """The command that installs a library: with the extra that contains it, or the library itself."""
    from importlib.metadata import requires

    name = module.replace("_", "-").lower()
    for line in requires("troth") or ():
        extra = re.search(r"""extra == ["'](\w+)["']""", line)
        if extra and extra[1] not in ("dev", "docs") and line.lower().startswith(name):
            return install_command(extra[1])
    return f"pip install {name}"


def _report_crash(error: BaseException) -> int:
    """Reports a bug. The exit code is 2, because 1 is a gate's verdict."""
    import traceback

    if os.environ.get("TROTH_DEBUG"):
        sys.stderr.write("".join(traceback.format_exception(error)))
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    what = f"internal error: {type(error).__name__}: {error}"
    line = f" at {os.path.basename(frames[0].filename)}:{frames[0].lineno}" if frames else ""
    return _fail(str(UserError(f"{what}{line}", hint="TROTH_DEBUG=1 shows the traceback; please report it")))
