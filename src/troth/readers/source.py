"""Where bytes come from: a file, a folder, an archive or standard input, one document at a time.

A folder streams, so that memory grows with its largest file and not with the corpus.
"""

from __future__ import annotations

import codecs
import gzip
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec

from troth.core.errors import UserError, near

ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
NOT_DIALOGUES = ("schema.json", "dialogues_and_metrics.json", "perturbation.json", "run.json")


class Document(msgspec.Struct, frozen=True, gc=False):
    """The whole content of one file, under the name that errors call it by."""

    name: str
    data: bytes


def files(path: str) -> list[Path]:
    """The files of a folder that dialogues may be in, sorted by name; none if it is not a folder."""
    place = Path(path)
    with _readable(place):
        if path == "-" or not place.is_dir():
            return []
        return [f for f in sorted(place.iterdir()) if f.name.endswith((*ENDINGS, ".zip")) and not _aside(f.name)]


def documents(path: str, only: Sequence[str] | None = None) -> Iterator[Document]:
    """Every document under a path (or `only` some files of a folder): sorted, archives opened, schemas left out."""
    if path == "-":
        yield _stdin()
        return
    found = files(path) if only is None else [Path(file) for file in only]
    if not found and only is None:
        found = [_file(path)]
    for file in found:
        yield from _open(file)


def first(path: str) -> Document:
    """The first document under a path: what formats are recognised by."""
    return next(documents(path))


def beside(path: str, name: str) -> Document | None:
    """A file of that name in the same folder (or archive), if there is one."""
    place = Path(path)
    if path in ("", "-"):
        return None
    with _readable(place):
        if not place.exists():  # told before anything is said of a schema that is missing, too
            raise missing(path)
        if place.suffix == ".zip" and place.is_file():
            return next(_unzip(place, lambda member: Path(member).name == name), None)
        folder = place if place.is_dir() else place.parent
        return next(_open(folder / name)) if (folder / name).is_file() else None


@cache
def _stdin() -> Document:
    """Standard input can be read once, and is wanted twice: to tell the format, and to read it."""
    if sys.stdin is None:  # closed before we were started
        raise UserError("is closed", file="<stdin>", hint="send a file to it: troth dst - < FILE")
    try:
        data = sys.stdin.buffer.read()
        return _document("<stdin>", gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"cannot be read: {error}", file="<stdin>", hint="send a file to it") from error


def _aside(name: str) -> bool:
    return name.removesuffix(".gz") in NOT_DIALOGUES


def missing(path: str) -> UserError:
    """The error for a path at which nothing is; names what is there under a name like it."""
    place = Path(path)
    with _readable(place):
        names = [other.name for other in place.parent.iterdir()] if place.parent.is_dir() else []
    return UserError("no such file or folder", file=path, hint=near(place.name, names) or "check the path")


def _file(path: str) -> Path:
    """A path that is to be a file."""
    if not path:  # Path("") is the folder we are in, which nobody means
        raise UserError("a path is empty", hint="name a file or a folder, or - for standard input")
    place = Path(path)
    with _readable(place):
        if place.is_dir():
            raise UserError("no .json, .jsonl, .gz or .zip file in this folder", file=path, hint="is it the right one?")
        if not place.exists():
            raise missing(path)
    return place


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    """What the system refuses is the user's to mend."""
    try:
        yield
        str(place).encode()  # results name files, and are UTF-8
    except UnicodeEncodeError as error:
        raise UserError("the name of the file is not UTF-8", file=str(place), hint="rename it") from error
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "check the path" if error.errno is not None else "is the file whole?"
        raise UserError(f"cannot be read: {reason}", file=str(place), hint=hint) from error
    except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        raise UserError(f"cannot be read: {error}", file=str(place), hint="is the file whole?") from error


def _open(file: Path) -> Iterator[Document]:
    with _readable(file):
        if file.suffix == ".zip":
            members = _unzip(file, lambda member: member.endswith(ENDINGS) and not _aside(Path(member).name))
            document = next(members, None)
            if document is None:
                raise UserError("no .json or .jsonl file in this archive", file=str(file), hint="is it the right one?")
            yield document
            yield from members
        elif file.suffix == ".gz":
            yield _document(str(file), gzip.decompress(file.read_bytes()))
        else:
            yield _document(str(file), file.read_bytes())


def _document(name: str, data: bytes) -> Document:
    """Editors on Windows put a byte order mark first, which is no part of JSON."""
    return Document(name, data.removeprefix(codecs.BOM_UTF8))


def _unzip(file: Path, wanted: Callable[[str], bool]) -> Iterator[Document]:
    with zipfile.ZipFile(file) as archive:
        for name in sorted(name for name in archive.namelist() if wanted(name) and not name.startswith("__MACOSX/")):
            member = archive.getinfo(name)
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                hint = "unpack the archive and name the folder"
                raise UserError("locked, or packed in a way that is not read here", file=f"{file}/{name}", hint=hint)
            data = archive.read(name)
            yield _document(f"{file}/{name}", gzip.decompress(data) if name.endswith(".gz") else data)
