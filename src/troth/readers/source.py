"""Reads bytes from a file, a folder, a glob, an address, an archive or standard input, one document at a time.

A folder streams, so that memory grows with its largest file and not with the corpus. A file of JSON Lines streams, too,
for those who ask for parts of it. What is unpacked, or comes from a pipe or a device, has a limit (`_most`). A pipe can
be read once and is needed twice, to recognise the format and to read it, so its content is kept.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from troth.core.errors import UserError, near
from troth.core.options import size
from troth.readers.places import MARK, fixed, matches, opening, place

SCHEMA = "schema.json"
NOT_DIALOGUES = (SCHEMA, "dialogues_and_metrics.json", "perturbation.json", "run.json")
SPLITS = ("train", "dev", "test", "val", "valid", "validation")  # folders of a corpus that share a schema one level up
RIGHT_FILE = "is it the right one?"

LARGEST = 2 * 10**9  # bytes of one document, unless TROTH_INPUT_LIMIT says otherwise
RATIO = 100  # how many times its size an archive may unpack to; dialogues in JSON reach about 30
HARMLESS = 10**8  # bytes that anything may unpack to

_CHUNK = 1 << 20  # bytes read at once
_PART = 64 << 20  # bytes of a file of JSON Lines that are one document, where parts are asked for
# How packed files begin and end, and what opens them.
_PACKED: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": (b"\x1f\x8b", lambda file: cast(IO[bytes], gzip.GzipFile(fileobj=file))),
    ".bz2": (b"BZh", lambda file: cast(IO[bytes], bz2.BZ2File(file))),
    ".xz": (b"\xfd7zXZ\x00", lambda file: cast(IO[bytes], lzma.LZMAFile(file))),  # noqa: SIM115
}
_PARQUET = b"PAR1"
_ROWS = 5_000  # of a Parquet file that are one document
_DAMAGE = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,
    struct.error,
    ValueError,
    RuntimeError,
)
PACKED = ("", *_PACKED)  # endings after that of the format
_ENDINGS = (*(f".{kind}{packed}" for kind in ("json", "jsonl") for packed in PACKED), ".parquet")


class Document(msgspec.Struct, frozen=True, gc=False):
    """The whole content of one file, and the name that errors use for it."""

    name: str
    data: bytes
    line: int = 1  # the number of its first line, where it is a part of a file

    @property
    def head(self) -> bytes:
        """The first line that is not blank."""
        return self.data.lstrip().partition(b"\n")[0]

    def starts(self, mark: bytes) -> bool:
        """Whether this is the first character that is not blank."""
        return self.data.lstrip()[:1] == mark


def holds_dialogues(name: str) -> bool:
    """Whether a file of this name may hold dialogues."""
    return name.endswith((*_ENDINGS, ".zip")) and unpacked_name(name) not in NOT_DIALOGUES


def unpacked_name(name: str) -> str:
    """The name of a file without the ending of its compression."""
    return name.removesuffix(next((ending for ending in _PACKED if name.endswith(ending)), ""))


def files(path: str, wanted: Callable[[str], bool] = holds_dialogues) -> list[Path]:
    """The files of a folder whose names are wanted, or that a glob matches, sorted; none for anything else."""
    folder = place(path)
    with _readable(folder):
        globbed = matches(path)
        if globbed is not None:
            chosen = [file for file in globbed if unpacked_name(file.name) not in NOT_DIALOGUES]
            if not chosen:
                raise UserError("no file matches", file=path, hint="quote the pattern, and check the path")
            return chosen
        if path in ("", "-") or not folder.is_dir():
            return []
        return [file for file in sorted(folder.iterdir()) if wanted(file.name)]


def documents(path: str, only: Sequence[str] | None = None, *, parts: bool = False) -> Iterator[Document]:
    """Every document under a path (or only some files of a folder): sorted, archives opened, schemas left out.

    `parts`: a large file of JSON Lines comes as several documents. Lines of one dialogue that follow each other stay
    together.
    """
    if path == "-":
        yield _stdin()
        return
    chosen = files(path) if only is None else [place(file) for file in only]
    for file in chosen or [_file(path)]:
        yield from _parts(file) if parts and unpacked_name(file.name).endswith(".jsonl") else _open(file)


def is_large(path: str, only: Sequence[str] | None = None) -> bool:
    """Whether a file of JSON Lines under a path has, or may have, more than one part."""
    if path == "-":
        return False
    chosen = (files(path) or [_file(path)]) if only is None else [place(file) for file in only]
    lines = [file for file in chosen if unpacked_name(file.name).endswith(".jsonl") and file.is_file()]
    return any(file.suffix in _PACKED or file.stat().st_size > _PART for file in lines)


def first(path: str) -> Document:
    """The first document under a path, which the format is recognised by."""
    return next(documents(path))


def head(path: str, only: Sequence[str] | None = None) -> Document:
    """The first document under a path, or its beginning where it is large, for those who recognise its format."""
    return next(documents(path, only, parts=True))


def content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of one file as it is, up to the limit of a document: a device may have no end."""
    with open(path, "rb") as file:
        return _bytes(os.fspath(path), file, _most())


def beside(path: str, name: str) -> Document | None:
    """The file called `name` in the same folder or archive, or None.

    The schema of a corpus may also lie one folder above its splits, as in MultiWOZ 2.2. Where a glob matches files in
    several folders, their schemas are taken together.
    """
    if path in ("", "-"):
        return None
    if name == SCHEMA and matches(path) is not None:
        places = sorted({file.parent for file in files(path)})
        found = [one for folder in places if (one := beside(str(folder), name)) is not None]
        if found:
            return _together(found)
    at = place(fixed(path) if matches(path) is not None else path)
    with _readable(at):
        if not at.exists():  # reported before anything is said about a missing schema
            raise missing(path)
        if at.suffix == ".zip" and at.is_file():
            return next(_unzip(at, lambda member: Path(member).name == name), None)
        folder = at if at.is_dir() else at.parent
        above = (folder.parent if folder.name else folder / "..",)
        folders = (folder, *(above if name == SCHEMA and folder.absolute().name in SPLITS else ()))
        target = next((near_by / name for near_by in folders if (near_by / name).is_file()), None)
    return None if target is None else next(_open(target))


def _together(schemas: Sequence[Document]) -> Document:
    """Several schemas as one. A service that two of them define differently is an error."""
    if len({one.data for one in schemas}) == 1:
        return schemas[0]
    services: dict[Any, Any] = {}
    places: dict[Any, str] = {}
    for one in schemas:
        try:
            own = {service["service_name"]: service for service in msgspec.json.decode(one.data)}
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            return one  # whoever reads it says what is wrong with it
        for service, defined in own.items():
            place_of = places.setdefault(service, one.name)
            if services.setdefault(service, defined) != defined:
                what = f"service '{service}' is defined differently in {place_of}"
                raise UserError(what, file=one.name, hint="name the schema that holds for all files")
    return Document(schemas[0].name, msgspec.json.encode(list(services.values())))


def missing(path: str) -> UserError:
    """The error for a path that does not exist; it names what lies there under a similar name."""
    at = place(path)
    with _readable(at):
        names = [other.name for other in at.parent.iterdir()] if at.parent.is_dir() else []
    return UserError("no such file or folder", file=path, hint=near(at.name, names) or "check the path")


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


def is_pipe(path: str) -> bool:
    """Whether a path is standard input, a pipe or a device: something that can be read once, by one process."""
    if MARK in path:
        return False
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def is_parquet(path: str) -> bool:
    """Whether a path names Parquet files. Polars reads them with threads, for which a forked process would wait."""
    return path not in ("", "-") and any(file.suffix == ".parquet" for file in files(path) or [place(path)])


@cache
def _stdin() -> Document:
    if sys.stdin is None:  # closed before we were started
        raise UserError("is closed", file="<stdin>", hint="send a file to it: troth dst - < FILE")
    try:
        return _document("<stdin>", sys.stdin.buffer)
    except (OSError, *_DAMAGE) as error:
        raise UserError(f"cannot be read: {error}", file="<stdin>", hint="send a file to it") from error


def _file(path: str) -> Path:
    if not path:  # Path("") is the current folder, which nobody means
        raise UserError("a path is empty", hint="name a file or a folder, or - for standard input")
    at = place(path)
    with _readable(at):
        if at.is_dir():
            what = "no .json, .jsonl, .gz, .zip or .parquet file in this folder"
            raise UserError(what, file=path, hint=RIGHT_FILE)
        if not at.exists():
            raise missing(path)
    return at


@contextmanager
def _readable(at: Path) -> Iterator[None]:
    """Turns errors of the operating system, of damaged archives and of storages into one line that names the file."""
    try:
        with opening(str(at), but=(OSError, *_DAMAGE)) if MARK in str(at) else nullcontext():
            yield
        str(at).encode()  # results name files, and are UTF-8
    except UnicodeEncodeError as error:
        raise UserError("the name of the file is not UTF-8", file=str(at), hint="rename it") from error
    except OSError as error:
        hint = "check the path" if error.errno is not None else "is the file whole?"
        raise UserError(f"cannot be read: {error.strerror or error}", file=str(at), hint=hint) from error
    except _DAMAGE as error:
        raise UserError(f"cannot be read: {error}", file=str(at), hint="is the file whole?") from error


def _open(file: Path) -> Iterator[Document]:
    with _readable(file):
        if file.suffix == ".zip":
            members = _unzip(file, lambda name: name.endswith(_ENDINGS) and holds_dialogues(Path(name).name))
            document = next(members, None)
            if document is None:
                raise UserError("no .json or .jsonl file in this archive", file=str(file), hint=RIGHT_FILE)
            yield document
            yield from members
        elif file.suffix == ".parquet":
            yield from _parquet(file)
        elif file.is_file():
            with file.open("rb") as data:
                yield _document(str(file), data)
        else:
            yield _piped(file)


def _parts(file: Path) -> Iterator[Document]:
    """A file of JSON Lines in parts. Nothing is cut at the end of the file, so that a small one is one document."""
    with _readable(file):
        if not file.is_file() or (file.stat().st_size <= _PART and file.suffix not in _PACKED):
            yield from _open(file)
            return
        with file.open("rb") as raw:
            content, most = _unpacked(file, raw)
            held, number, seen = b"", 1, 0
            chunk = content.read(_PART).removeprefix(codecs.BOM_UTF8)
            while chunk:
                more = content.read(_PART)
                seen += len(chunk)
                held += chunk
                if seen > most or len(held) > _most():
                    raise _too_large(str(file), min(most, _most()))
                cut = _last_dialogue(held) if more else len(held)
                if held[:cut].strip() or (number == 1 and not more):
                    yield Document(str(file), held[:cut], number)
                number += held.count(b"\n", 0, cut)
                held, chunk = held[cut:], more
            if seen == 0:
                yield Document(str(file), b"")


def _unpacked(file: Path, raw: IO[bytes]) -> tuple[IO[bytes], float]:
    """The content of a file, as it is read, and how many bytes it may have: where it is packed, in proportion to it."""
    head = raw.read(8)
    raw.seek(0)
    for ending, (mark, opened) in _PACKED.items():
        if file.suffix == ending or head.startswith(mark):
            own = os.environ.get("TROTH_INPUT_LIMIT")
            return opened(raw), size(own) if own else max(HARMLESS, RATIO * file.stat().st_size)
    return raw, float("inf")


class _Named(msgspec.Struct):
    dialogue: str | int | None = None


def _last_dialogue(data: bytes) -> int:
    """Where the lines of the last dialogue begin, which may go on; the end of the last line, where it names none."""
    end = cut = data.rfind(b"\n") + 1
    last = None
    while cut:
        begin = data.rfind(b"\n", 0, cut - 1) + 1
        line = data[begin:cut]
        if line.strip():
            try:
                name = msgspec.json.decode(line, type=_Named).dialogue
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return end  # whoever reads it says what is wrong
            if name is None:
                return end
            if last is not None and name != last:
                return cut
            last = name
        cut = begin
    return 0


def _parquet(file: Path) -> Iterator[Document]:
    """The rows of a Parquet file as JSON lines, some thousands at a time; what a row does not have is left out."""
    import polars as pl

    try:
        with file.open("rb") as data:
            if data.read(len(_PARQUET)) != _PARQUET:
                raise UserError("is no Parquet file", file=str(file), hint="is the file whole?")
            data.seek(0)
            lazy = pl.scan_parquet(file if isinstance(file, Path) else io.BytesIO(_bytes(str(file), data, _most())))
        count = lazy.select(pl.len()).collect().item()
        # Rows that are turns of a dialogue stay together.
        size = count if "dialogue" in lazy.collect_schema() else _ROWS
        for start in range(0, count, size or 1) or (0,):
            rows = lazy.slice(start, size).collect().to_dicts()
            lines = b"\n".join(msgspec.json.encode(_without_nulls(row)) for row in rows)
            yield Document(f"{file}" if count <= size else f"{file}, rows from {start}", lines)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError) as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise UserError(f"cannot be read: {first_line}", file=str(file), hint="is the file whole?") from error


def _without_nulls(value: Any) -> Any:
    """Columns of records have every key in every row; a key without a value was not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


_PIPES: dict[tuple[int, int], Document] = {}  # what pipes held, by device and number of the file


def _piped(file: Path) -> Document:
    """What a pipe or a device holds. If nobody writes to it any more, that is what was read of it before."""
    status = file.stat()
    pipe = status.st_dev, status.st_ino
    if pipe not in _PIPES:
        with file.open("rb") as data:
            _PIPES[pipe] = _document(str(file), data)
    else:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as raw:
            begin = raw.read(_CHUNK)  # b"": no writer; None: a writer that has written nothing yet
            if begin != b"":
                os.set_blocking(raw.fileno(), True)
                _PIPES[pipe] = _document(str(file), raw, begin=begin or b"")
    return _PIPES[pipe]


def _unzip(file: Path, wanted: Callable[[str], bool]) -> Iterator[Document]:
    with file.open("rb") as packed, zipfile.ZipFile(packed) as archive:
        most = _most(file.stat().st_size)
        for name in sorted(name for name in archive.namelist() if wanted(name) and not name.startswith("__MACOSX/")):
            member = archive.getinfo(name)
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                hint = "unpack the archive and name the folder"
                raise UserError("encrypted, or an unknown kind of compression", file=f"{file}/{name}", hint=hint)
            with archive.open(member) as data:
                document = _document(f"{file}/{name}", data, most)
            yield document
            most -= len(document.data)


def _document(name: str, file: IO[bytes], most: int | None = None, begin: bytes = b"") -> Document:
    """What a file holds, unpacked, without the byte order mark that editors on Windows put first.

    `most`: how many bytes it may unpack to; without it, that depends on the size of the file. `begin`: what was read of
    the file already.
    """
    data = _bytes(name, file, _most() if most is None else most, begin)
    for ending, (mark, opened) in _PACKED.items():
        if data.startswith(mark) or name.endswith(ending):
            data = _bytes(name, opened(io.BytesIO(data)), _most(len(data)) if most is None else most)
            break
    return Document(name, data.removeprefix(codecs.BOM_UTF8))


def _bytes(name: str, file: IO[bytes], most: int, begin: bytes = b"") -> bytes:
    data = io.BytesIO()
    chunk = begin
    while chunk := chunk or file.read(_CHUNK):
        data.write(chunk)
        if data.tell() > most:
            raise _too_large(name, most)
        chunk = b""
    return data.getvalue()


def _too_large(name: str, most: float) -> UserError:
    hint = "TROTH_INPUT_LIMIT=20GB allows more, where that is what it should hold"
    return UserError(f"holds more than {most / 1e6:,.0f} MB once it is read", file=name, hint=hint)


def _most(packed: int | None = None) -> int:
    """How many bytes a document may have: a fixed number, and for an archive of this size, in proportion to it."""
    own = os.environ.get("TROTH_INPUT_LIMIT")
    if own:
        return size(own)
    return LARGEST if packed is None else min(LARGEST, max(HARMLESS, RATIO * packed))
