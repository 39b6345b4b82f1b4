"""Reads bytes from a file, a folder, an archive or standard input, one document at a time.

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

SCHEMA = "schema.json"
NOT_DIALOGUES = (SCHEMA, "dialogues_and_metrics.json", "perturbation.json", "run.json")
SPLITS = ("train", "dev", "test", "val", "valid", "validation")  # folders of a corpus that share a schema one level up
RIGHT_FILE = "is it the right one?"

_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class Document(msgspec.Struct, frozen=True, gc=False):
    """The whole content of one file, and the name that errors use for it."""

    name: str
    data: bytes

    @property
    def head(self) -> bytes:
        """The first line that is not blank."""
        return self.data.lstrip().partition(b"\n")[0]

    def starts(self, mark: bytes) -> bool:
        """Whether this is the first character that is not blank."""
        return self.data.lstrip()[:1] == mark


def holds_dialogues(name: str) -> bool:
    """Whether a file of this name may hold dialogues."""
    return name.endswith((*_ENDINGS, ".zip")) and name.removesuffix(".gz") not in NOT_DIALOGUES


def files(path: str, wanted: Callable[[str], bool] = holds_dialogues) -> list[Path]:
    """The files of a folder whose names are wanted, sorted by name; none if it is not a folder."""
    folder = Path(path)
    with _readable(folder):
        if path in ("", "-") or not folder.is_dir():
            return []
        return [file for file in sorted(folder.iterdir()) if wanted(file.name)]


def documents(path: str, only: Sequence[str] | None = None) -> Iterator[Document]:
    """Every document under a path (or only some files of a folder): sorted, archives opened, schemas left out."""
    if path == "-":
        yield _stdin()
        return
    chosen = files(path) if only is None else [Path(file) for file in only]
    for file in chosen or [_file(path)]:
        yield from _open(file)


def first(path: str) -> Document:
    """The first document under a path, which the format is recognised by."""
    return next(documents(path))


def beside(path: str, name: str) -> Document | None:
    """The file called `name` in the same folder or archive, or None.

    The schema of a corpus may also lie one folder above its splits, as in MultiWOZ 2.2.
    """
    place = Path(path)
    if path in ("", "-"):
        return None
    with _readable(place):
        if not place.exists():  # reported before anything is said about a missing schema
            raise missing(path)
        if place.suffix == ".zip" and place.is_file():
            return next(_unzip(place, lambda member: Path(member).name == name), None)
        folder = place if place.is_dir() else place.parent
        above = (folder.parent if folder.name else folder / "..",)
        folders = (folder, *(above if name == SCHEMA and folder.absolute().name in SPLITS else ()))
        target = next((near_by / name for near_by in folders if (near_by / name).is_file()), None)
    return None if target is None else next(_open(target))


def missing(path: str) -> UserError:
    """The error for a path that does not exist; it names what lies there under a similar name."""
    place = Path(path)
    with _readable(place):
        names = [other.name for other in place.parent.iterdir()] if place.parent.is_dir() else []
    return UserError("no such file or folder", file=path, hint=near(place.name, names) or "check the path")


def utf8(document: Document) -> str:
    """The content as text; where it is not UTF-8, the error names the line."""
    try:
        return document.data.decode()
    except UnicodeDecodeError as error:
        line = document.data[: error.start].count(b"\n") + 1
        raise UserError(f"line {line}: not valid UTF-8", file=document.name, hint="save it as UTF-8") from error


def empty(document: Document) -> UserError:
    """The error for a file without content."""
    return UserError("the file is empty", file=document.name, hint=RIGHT_FILE)


@cache
def _stdin() -> Document:
    """Standard input, which can be read once and is needed twice: to recognise the format, and to read it."""
    if sys.stdin is None:  # closed before we were started
        raise UserError("is closed", file="<stdin>", hint="send a file to it: troth dst - < FILE")
    try:
        data = sys.stdin.buffer.read()
        return _document("<stdin>", gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"cannot be read: {error}", file="<stdin>", hint="send a file to it") from error


def _file(path: str) -> Path:
    if not path:  # Path("") is the current folder, which nobody means
        raise UserError("a path is empty", hint="name a file or a folder, or - for standard input")
    place = Path(path)
    with _readable(place):
        if place.is_dir():
            raise UserError("no .json, .jsonl, .gz or .zip file in this folder", file=path, hint=RIGHT_FILE)
        if not place.exists():
            raise missing(path)
    return place


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    """Turns errors of the operating system and of damaged archives into one line that names the file."""
    try:
        yield
        str(place).encode()  # results name files, and are UTF-8
    except UnicodeEncodeError as error:
        raise UserError("the name of the file is not UTF-8", file=str(place), hint="rename it") from error
    except OSError as error:
        hint = "check the path" if error.errno is not None else "is the file whole?"
        raise UserError(f"cannot be read: {error.strerror or error}", file=str(place), hint=hint) from error
    except (EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        raise UserError(f"cannot be read: {error}", file=str(place), hint="is the file whole?") from error


def _open(file: Path) -> Iterator[Document]:
    with _readable(file):
        if file.suffix == ".zip":
            members = _unzip(file, lambda name: name.endswith(_ENDINGS) and holds_dialogues(Path(name).name))
            document = next(members, None)
            if document is None:
                raise UserError("no .json or .jsonl file in this archive", file=str(file), hint=RIGHT_FILE)
            yield document
            yield from members
        else:
            data = file.read_bytes()
            yield _document(str(file), gzip.decompress(data) if file.suffix == ".gz" else data)


def _document(name: str, data: bytes) -> Document:
    """A document without the byte order mark that editors on Windows put first, and that is no part of JSON."""
    return Document(name, data.removeprefix(codecs.BOM_UTF8))


def _unzip(file: Path, wanted: Callable[[str], bool]) -> Iterator[Document]:
    with zipfile.ZipFile(file) as archive:
        for name in sorted(name for name in archive.namelist() if wanted(name) and not name.startswith("__MACOSX/")):
            member = archive.getinfo(name)
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                hint = "unpack the archive and name the folder"
                raise UserError("encrypted, or an unknown kind of compression", file=f"{file}/{name}", hint=hint)
            data = archive.read(name)
            yield _document(f"{file}/{name}", gzip.decompress(data) if name.endswith(".gz") else data)
