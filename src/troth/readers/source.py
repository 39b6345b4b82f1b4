"""Reads documents from a file, a folder, a glob, an address, an archive or standard input, one at a time.

A folder streams, so that memory grows with its largest file and not with the corpus. A file of JSON Lines streams, too,
if its caller asks for parts. Archives, pipes and devices have a size limit (`unpack.max_document`). A pipe can be read
only once, but is needed twice, to recognise the format and to read it, so its content is kept.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS, explain, reading
from troth.core.errors import UserError, suggest_name
from troth.core.names import stem
from troth.readers import unpack
from troth.readers.paths import MARK, glob_files, glob_root, opening, to_path
from troth.readers.unpack import COMPRESSIONS, DAMAGE, IS_WHOLE, unpacked_name

SCHEMA = "schema.json"
NOT_DIALOGUES = (SCHEMA, "dialogues_and_metrics.json", "perturbation.json", "run.json")
SPLITS = ("train", "dev", "test", "val", "valid", "validation")  # folders of a corpus that share a schema one level up
RIGHT_FILE = "is it the right one?"

PART_SIZE = 64 << 20  # bytes of a file of JSON Lines that are one document, if the caller asks for parts
HEAD_ROWS = 100  # rows of a Parquet file that count as its beginning
PACKED = ("", *COMPRESSIONS)  # endings after that of the format
_ENDINGS = (*(f".{kind}{packed}" for kind in ("json", "jsonl") for packed in PACKED), ".parquet")


class Document(msgspec.Struct, frozen=True, gc=False):
    """The whole content of one file, and the name that errors use for it."""

    name: str
    data: bytes
    line: int = 1  # the number of its first line, if it is a part of a file
    skipped: list[str] | None = None  # errors of rows that were left out; None: the first error is raised

    @property
    def head(self) -> bytes:
        """The first line that is not blank."""
        return self.data.lstrip().partition(b"\n")[0]

    def starts(self, mark: bytes) -> bool:
        """Whether this is the first character that is not blank."""
        return self.data.lstrip()[:1] == mark


def holds_dialogues(name: str) -> bool:
    """Whether a file of this name may contain dialogues."""
    return name.endswith((*_ENDINGS, ".zip")) and unpacked_name(name) not in NOT_DIALOGUES


def files(path: str, wanted: Callable[[str], bool] = holds_dialogues) -> list[Path]:
    """The wanted files of a folder, or those that a glob matches, sorted; an empty list for other paths."""
    folder = to_path(path)
    with _reading(folder):
        matches = glob_files(path)
        if matches is not None:
            dialogues = [file for file in matches if unpacked_name(file.name) not in NOT_DIALOGUES]
            if not dialogues:
                raise UserError("no file matches", file=path, hint="quote the pattern, and check the path")
            return dialogues
        if path in ("", "-") or not folder.is_dir():
            return []
        return [file for file in sorted(folder.iterdir()) if wanted(file.name)]


def documents(path: str, only: Sequence[str] | None = None, *, parts: bool = False) -> Iterator[Document]:
    """Every document under a path (or only some files of a folder): sorted, archives opened, schemas left out.

    `parts`: a large file of JSON Lines gives several documents. Neighbouring lines of one dialogue stay together.
    """
    if path == "-":
        yield _stdin()
        return
    for file in _files(path, only):
        yield from _read_parts(file) if parts and _is_json_lines(file) else _read(file)


def is_large(path: str, only: Sequence[str] | None) -> bool:
    """Whether a file of JSON Lines under a path has, or may have, more than one part."""
    if path == "-":
        return False
    lines = [file for file in _files(path, only) if _is_json_lines(file) and file.is_file()]
    return any(file.suffix in COMPRESSIONS or file.stat().st_size > PART_SIZE for file in lines)


def first(path: str) -> Document:
    """The first document under a path."""
    return next(documents(path))


def first_part(path: str, only: Sequence[str] | None = None) -> Document:
    """The first document under a path, or its first part if it is large: enough to recognise its format."""
    return next(documents(path, only, parts=True))


def head(path: str, size: int) -> bytes:
    """The first `size` bytes of the first document under a path, unpacked. The rest of the file is not read."""
    if path == "-":
        return _stdin().data[:size]
    file = _files(path)[0]
    with _reading(file):
        if file.suffix == ".zip":
            return _first_member(file, unpack.unzip(file, _is_wanted_member, size)).data
        if file.suffix == ".parquet":
            return next(unpack.read_parquet(file, HEAD_ROWS)).data[:size]
        if not file.is_file():
            return _read_pipe(file).data[:size]
        with file.open("rb") as stream:
            return unpack.read_head(file.name, stream, size)


def read_bytes(path: str | os.PathLike[str], hint: str = "check the path") -> bytes:
    """The content of one file, not unpacked, up to the size limit of a document: a device may have no end."""
    with reading(os.fspath(path), hint=hint), open(path, "rb") as file:
        return unpack.read_bytes(os.fspath(path), file, unpack.max_document())


def read_text(path: str | os.PathLike[str]) -> str:
    """The content of one file as text; an error names the line that is not UTF-8."""
    return utf8(Document(os.fspath(path), read_bytes(path).removeprefix(codecs.BOM_UTF8)))


def find_beside(path: str, name: str) -> Document | None:
    """The file called `name` in the same folder or archive, or None.

    The schema of a corpus may also be one folder above its splits, as in MultiWOZ 2.2. If a glob matches files in
    several folders, their schemas are merged.
    """
    if path in ("", "-"):
        return None
    if name == SCHEMA and glob_files(path) is not None:
        folders = sorted({file.parent for file in files(path)})
        schemas = [schema for folder in folders if (schema := find_beside(str(folder), name)) is not None]
        if schemas:
            return _merge_schemas(schemas)
    target = to_path(glob_root(path) if glob_files(path) is not None else path)
    with _reading(target):
        if not target.exists():  # reported before a missing schema
            raise missing_error(path)
        if target.suffix == ".zip" and target.is_file():
            member = next(unpack.unzip(target, lambda member: Path(member).name == name), None)
            return None if member is None else Document(*member)
        folder = target if target.is_dir() else target.parent
        above = (folder.parent if folder.name else folder / "..",)
        candidates = (folder, *(above if name == SCHEMA and folder.absolute().name in SPLITS else ()))
        file = next((candidate / name for candidate in candidates if (candidate / name).is_file()), None)
    return None if file is None else next(_read(file))


def missing_error(path: str) -> UserError:
    """The error for a path that does not exist; it suggests a similar name that exists."""
    target = to_path(path)
    with _reading(target):
        names = [other.name for other in target.parent.iterdir()] if target.parent.is_dir() else []
    same = suggest_name(stem(target.name), map(stem, names)) is not None  # two short names with one ending look alike
    hint = suggest_name(target.name, names) if same else None
    return UserError("no such file or folder", file=path, hint=hint or "check the path")


def utf8(document: Document) -> str:
    """The content as text; an error names the line that is not UTF-8."""
    try:
        return document.data.decode()
    except UnicodeDecodeError as error:
        line = document.data[: error.start].count(b"\n") + 1
        raise UserError(f"line {line}: not valid UTF-8", file=document.name, hint="save it as UTF-8") from error


def empty_error(document: Document) -> UserError:
    """The error for a file without content."""
    return UserError("the file is empty", file=document.name, hint=RIGHT_FILE)


def is_pipe(path: str) -> bool:
    """Whether a path is standard input, a pipe or a device: something that only one process can read, and once."""
    if MARK in path:
        return False
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def is_parquet(path: str) -> bool:
    """Whether a path names Parquet files. Polars reads them with threads, which block a forked process."""
    return path not in ("", "-") and any(file.suffix == ".parquet" for file in files(path) or [to_path(path)])


def _files(path: str, only: Sequence[str] | None = None) -> list[Path]:
    """The files under a path, at least one."""
    if only is not None:
        return [to_path(file) for file in only]
    if inside := files(path):
        return inside
    if not path:  # Path("") is the current folder, which nobody means
        raise UserError("a path is empty", hint="name a file or a folder, or - for standard input")
    file = to_path(path)
    with _reading(file):
        if file.is_dir():
            what = "no .json, .jsonl, .gz, .zip or .parquet file in this folder"
            raise UserError(what, file=path, hint=RIGHT_FILE)
        if not file.exists():
            raise missing_error(path)
    return [file]


def _is_json_lines(file: Path) -> bool:
    return unpacked_name(file.name).endswith(".jsonl")


def _is_wanted_member(name: str) -> bool:
    return name.endswith(_ENDINGS) and holds_dialogues(Path(name).name)


@cache
def _stdin() -> Document:
    if sys.stdin is None:  # closed before this process was started
        raise UserError("is closed", file="<stdin>", hint="send a file to it: troth dst - < FILE")
    with reading("<stdin>", hint="send a file to it", also=DAMAGE):
        return Document("<stdin>", unpack.read_unpacked("<stdin>", sys.stdin.buffer))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turns errors of the operating system, of damaged archives and of storages into a UserError about the file."""
    try:
        with opening(str(path), but=(OSError, *DAMAGE)) if MARK in str(path) else nullcontext():
            yield
        str(path).encode()  # results name files, and are UTF-8
    except UnicodeEncodeError as error:
        raise UserError("the name of the file is not UTF-8", file=str(path), hint="rename it") from error
    except (OSError, *DAMAGE) as error:
        hint = "check the path" if isinstance(error, OSError) and error.errno is not None else IS_WHOLE
        raise UserError(f"cannot be read: {explain(error)}", file=str(path), hint=hint) from error


def _read(file: Path) -> Iterator[Document]:
    with _reading(file):
        if file.suffix == ".zip":
            members = unpack.unzip(file, _is_wanted_member)
            yield Document(*_first_member(file, members))
            yield from (Document(*member) for member in members)
        elif file.suffix == ".parquet":
            yield from (Document(*rows) for rows in unpack.read_parquet(file))
        elif file.is_file():
            with file.open("rb") as stream:
                yield Document(str(file), unpack.read_unpacked(str(file), stream, unpack.archived_limit(file)))
        else:
            yield _read_pipe(file)


def _first_member(file: Path, members: Iterator[unpack.Content]) -> unpack.Content:
    member = next(members, None)
    if member is None:
        raise UserError("no .json or .jsonl file in this archive", file=str(file), hint=RIGHT_FILE)
    return member


def _read_parts(file: Path) -> Iterator[Document]:
    """A file of JSON Lines in parts. The last part ends with the file, so that a small file is one document."""
    with _reading(file):
        if not file.is_file() or (file.stat().st_size <= PART_SIZE and file.suffix not in COMPRESSIONS):
            yield from _read(file)
            return
        with file.open("rb") as raw:
            stream = unpack.decompress(file.name, raw)
            limit = float("inf") if stream is raw else unpack.max_unpacked(file.stat().st_size)
            if (archived := unpack.archived_limit(file)) is not None:
                limit = archived
            rest, number, total = b"", 1, 0
            chunk = stream.read(PART_SIZE).removeprefix(codecs.BOM_UTF8)
            while chunk:
                following = stream.read(PART_SIZE)
                total += len(chunk)
                rest += chunk
                if total > limit or len(rest) > unpack.max_document():
                    raise unpack.too_large(str(file), min(limit, unpack.max_document()))
                end = _last_dialogue(rest) if following else len(rest)
                if rest[:end].strip() or (number == 1 and not following):
                    yield Document(str(file), rest[:end], number)
                number += rest.count(b"\n", 0, end)
                rest, chunk = rest[end:], following
            if total == 0:
                yield Document(str(file), b"")


class _DialogueKey(msgspec.Struct):
    dialogue: str | int | None = None


def _last_dialogue(data: bytes) -> int:
    """The index of the first line of the last dialogue, which may continue in the next chunk.

    If the last line names no dialogue, the index of its end.
    """
    end = start = data.rfind(b"\n") + 1
    last = None
    while start:
        previous = data.rfind(b"\n", 0, start - 1) + 1
        line = data[previous:start]
        if line.strip():
            try:
                name = msgspec.json.decode(line, type=_DialogueKey).dialogue
            except DECODING_ERRORS:
                return end  # the reader of the document reports it
            if name is None:
                return end
            if last is not None and name != last:
                return start
            last = name
        start = previous
    return 0


_PIPES: dict[tuple[int, int], Document] = {}  # content of pipes, by device and inode


def _read_pipe(file: Path) -> Document:
    """The content of a pipe or a device. If it has no writer any more, the content that was read before."""
    status = file.stat()
    pipe = status.st_dev, status.st_ino
    if pipe not in _PIPES:
        with file.open("rb") as stream:
            _PIPES[pipe] = Document(str(file), unpack.read_unpacked(str(file), stream))
    else:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as raw:
            beginning = raw.read(unpack.CHUNK)  # b"": no writer; None: a writer that has written nothing yet
            if beginning != b"":
                os.set_blocking(raw.fileno(), True)
                _PIPES[pipe] = Document(str(file), unpack.read_unpacked(str(file), raw, beginning=beginning or b""))
    return _PIPES[pipe]


def _merge_schemas(schemas: Sequence[Document]) -> Document:
    """Several schemas as one. A service that two of them define differently is an error."""
    if len({schema.data for schema in schemas}) == 1:
        return schemas[0]
    services: dict[Any, Any] = {}
    files_by_service: dict[Any, str] = {}
    for schema in schemas:
        try:
            definitions = {service["service_name"]: service for service in msgspec.json.decode(schema.data)}
        except (*DECODING_ERRORS, KeyError, TypeError):
            return schema  # the reader of the schema reports it
        for service, definition in definitions.items():
            file = files_by_service.setdefault(service, schema.name)
            if services.setdefault(service, definition) != definition:
                what = f"service '{service}' is defined differently in {file}"
                raise UserError(what, file=schema.name, hint="name the schema that holds for all files")
    return Document(schemas[0].name, msgspec.json.encode(list(services.values())))
