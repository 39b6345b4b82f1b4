"""Where bytes come from: a file, a folder, an archive or standard input, one document at a time.

A folder streams, so that memory grows with its largest file and not with the corpus.
"""

from __future__ import annotations

import gzip
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from troth.errors import UserError, near

ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
NOT_DIALOGUES = ("schema.json", "dialogues_and_metrics.json", "perturbation.json", "run.json")


class Document(msgspec.Struct, frozen=True, gc=False):
    """The whole content of one file, under the name that errors call it by."""

    name: str
    data: bytes


def documents(path: str) -> Iterator[Document]:
    """Every document under a path: sorted by name, archives opened, schemas left out."""
    if path == "-":
        yield _stdin()
        return
    place = Path(path)
    if place.is_dir():
        files = [f for f in sorted(place.iterdir()) if f.name.endswith((*ENDINGS, ".zip")) and not _aside(f.name)]
        if not files:
            raise UserError("no .json, .jsonl, .gz or .zip file in this folder", file=path, hint="is it the right one?")
        for file in files:
            yield from _open(file)
    elif place.exists():
        yield from _open(place)
    else:
        raise UserError("no such file or folder", file=path, hint=_sibling(place))


def first(path: str) -> Document:
    """The first document under a path: what formats are recognised by."""
    return next(documents(path))


def beside(path: str, name: str) -> Document | None:
    """A file of that name in the same folder (or archive), if there is one."""
    place = Path(path)
    if path == "-":
        return None
    if place.suffix == ".zip" and place.is_file():
        return next(_unzip(place, lambda member: Path(member).name == name), None)
    folder = place if place.is_dir() else place.parent
    return next(_open(folder / name)) if (folder / name).is_file() else None


@cache
def _stdin() -> Document:
    """Standard input can be read once, and is wanted twice: to tell the format, and to read it."""
    return Document("<stdin>", sys.stdin.buffer.read())


def _aside(name: str) -> bool:
    return name.removesuffix(".gz") in NOT_DIALOGUES


def _open(file: Path) -> Iterator[Document]:
    try:
        if file.suffix == ".zip":
            members = _unzip(file, lambda member: member.endswith(ENDINGS) and not _aside(Path(member).name))
            document = next(members, None)
            if document is None:
                raise UserError("no .json or .jsonl file in this archive", file=str(file), hint="is it the right one?")
            yield document
            yield from members
        elif file.suffix == ".gz":
            yield Document(str(file), gzip.decompress(file.read_bytes()))
        else:
            yield Document(str(file), file.read_bytes())
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise UserError(f"cannot be read: {error}", file=str(file), hint="is the file whole?") from error


def _unzip(file: Path, wanted: Callable[[str], bool]) -> Iterator[Document]:
    with zipfile.ZipFile(file) as archive:
        for name in sorted(name for name in archive.namelist() if wanted(name) and not name.startswith("__MACOSX/")):
            data = archive.read(name)
            yield Document(f"{file}/{name}", gzip.decompress(data) if name.endswith(".gz") else data)


def _sibling(place: Path) -> str:
    folder = place.parent
    return (near(place.name, (p.name for p in folder.iterdir())) if folder.is_dir() else None) or "check the path"
