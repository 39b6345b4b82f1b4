"""The file of a cache: begun whole, opened only if it is ours, read where it cannot be written.

A file is ours if SQLite's application_id says so, or, where that is damaged, if its first page defines our tables. Any
other file that a user names is left as it is. The file at the usual place is ours whatever it holds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from troth.core.errors import UserError
from troth.storage import places
from troth.storage.locks import locked
from troth.storage.unfinished import unfinished

MEMORY = ":memory:"
LAYOUT = 2  # of the tables; SQLite's user_version
OURS = 1953656692  # "trot": SQLite's application_id, so that no other program's file is taken for a cache
BUSY = 60.0  # seconds to wait for another process
ALONE = 10.0  # seconds to wait until no other process opens the file
SIZE = "length({}value) * 4 / 3 + 55"  # bytes of a row on disk, about: with the index and the free space in pages
HINT = "name another cache file, or none"
ENDS = ("-wal", "-shm", "-journal")  # of files that SQLite keeps beside a database

BEGINNING = (
    "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "DROP TABLE IF EXISTS answers",
    "CREATE TABLE answers (key BLOB PRIMARY KEY, model INTEGER NOT NULL, used INTEGER NOT NULL, value BLOB NOT NULL) "
    "WITHOUT ROWID",
    "CREATE INDEX oldest ON answers (used)",
    "DROP TABLE IF EXISTS held",
    "CREATE TABLE held AS SELECT 0 AS bytes",
    f"CREATE TRIGGER came AFTER INSERT ON answers BEGIN UPDATE held SET bytes = bytes + ({SIZE.format('NEW.')}); END",  # noqa: S608 (nothing but names)
    f"CREATE TRIGGER went AFTER DELETE ON answers BEGIN UPDATE held SET bytes = bytes - ({SIZE.format('OLD.')}); END",  # noqa: S608
    f"PRAGMA application_id = {OURS}",
    f"PRAGMA user_version = {LAYOUT}",
)
TABLES = 3
STATE = (  # one statement, so that everything is of one moment
    "SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_master WHERE type = 'table') "
    "FROM pragma_application_id, pragma_user_version"
)

_MAGIC = b"SQLite format 3\0"
_TABLE = b"CREATE TABLE answers (key BLOB PRIMARY KEY, model INTEGER"
_PAGE = 4096  # bytes of a page
_AT = slice(68, 72)  # where a header has the application_id
_JOURNAL = 64_000_000  # bytes that the WAL file keeps after it was copied into the file
_DAMAGE = {  # SQLite's codes for a file that is not what was written; any other error has its reason elsewhere
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_RANGE, sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,  # although the file can be written: the header says so
}  # fmt: skip


_READ: dict[tuple[int, int], list[int]] = {}  # descriptors by device and inode


class DamagedError(Exception):
    """The file is a valid database, but what it holds is not what was written."""


@contextmanager
def alone(path: str) -> Iterator[None]:
    """One process at a time opens the file or puts it aside: SQLite takes any `-wal` beside a file for its own.

    The lock is on the folder. Where it cannot be had, the work goes on without it.
    """
    try:
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    except OSError:  # there is no such folder yet, or folders cannot be opened (Windows)
        yield
        return
    try:
        with locked(folder, ALONE):
            yield
    finally:
        os.close(folder)


def opened(path: str) -> tuple[sqlite3.Connection, bool]:
    """A connection to the cache in a file, which is made if there is none; and whether it can be written to."""
    if path == MEMORY:
        return _prepared(path, path), True
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if not os.path.exists(path):
            _begin(os.path.realpath(path))
        ours = _check(path)
        writable = all(os.access(place, os.W_OK) for place in (path, os.path.dirname(os.path.realpath(path))))
    except OSError as error:
        raise UserError(f"no cache can be made there: {error.strerror}", file=path, hint=HINT) from error
    if writable:
        return _prepared(path, path, ours=ours), True
    read_only = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
    return _prepared(read_only, path, ours=ours, writable=False), False


def _begin(path: str) -> None:
    """Makes an empty cache beside its place and moves it there, so that no file is ever half a cache."""
    with unfinished(Path(path), folder=False) as part:
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as connection:
                prepare(connection, path)
        except sqlite3.Error as error:
            raise UserError(f"no cache can be made there: {error}", file=path, hint=HINT) from error
        with suppress(FileExistsError):  # another process was faster
            _appear(str(part), path)


def _appear(part: str, path: str) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # no links on this file system
        os.rename(part, path)


def _check(path: str) -> bool:
    """Refuses a file that is not a cache; returns whether it is one for certain."""
    if not os.path.isfile(path):
        raise UserError("is not a file", file=path, hint=HINT)
    page = _first_page(path)
    ours = page[_AT] == OURS.to_bytes(4, "big") or _TABLE in page or _is_usual(path)
    # A process of an earlier version that was killed at once has left the application_id in the WAL file.
    if not ours and not (page.startswith(_MAGIC) and os.path.exists(path + ENDS[0])):
        what = "is a database of another program" if page.startswith(_MAGIC) else "is not a cache of troth"
        raise UserError(what, file=path, hint=HINT)
    return ours


def _first_page(path: str) -> bytes:
    """The first page of a file, which stays open until `let_go`.

    Closing any descriptor of a file gives up all locks that the process has on it, those of its other connections,
    too; the next process to end would then take the WAL file away from under them.
    """
    descriptor = os.open(path, os.O_RDONLY)
    status = os.fstat(descriptor)
    _READ.setdefault((status.st_dev, status.st_ino), []).append(descriptor)
    return os.read(descriptor, _PAGE)


def let_go(file: tuple[int, int] | None) -> None:
    """Closes what was opened to look at a file (device and inode), once this process has no connection to it."""
    for descriptor in _READ.pop(file, ()) if file else ():
        os.close(descriptor)


def _is_usual(path: str) -> bool:
    with suppress(UserError):  # there is no home directory
        return os.path.realpath(path) == os.path.realpath(places.scores())
    return False


def _prepared(place: str, path: str, *, ours: bool = False, writable: bool = True) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=BUSY, isolation_level=None, check_same_thread=False, uri=not writable)
    try:
        prepare(connection, path, ours=ours, writable=writable)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, path: str, *, ours: bool = False, writable: bool = True) -> None:
    """Checks that the file is ours and of this layout; a new one is made so. `ours`: it is known to be ours."""
    application, layout, tables = connection.execute(STATE).fetchone()
    if application != OURS and ours:
        raise DamagedError("its header is not what was written")
    if application != OURS and tables:
        raise UserError("is a database of another program", file=path, hint=HINT)
    if layout > LAYOUT:
        raise UserError("was written by a newer troth", file=path, hint=HINT)
    if layout == LAYOUT and tables != TABLES:
        raise DamagedError("a table is missing")
    if not writable:
        if layout < LAYOUT:
            raise DamagedError("of an older layout")
        return
    _wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")  # what is committed outlives a killed process
    connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL}")
    if layout < LAYOUT:
        with transaction(connection):
            if connection.execute(STATE).fetchone()[1] < LAYOUT:  # no other process was faster
                create(connection)


def create(connection: sqlite3.Connection) -> None:
    """Makes empty tables. What an older layout held is computed again."""
    for statement in BEGINNING:
        connection.execute(statement)


def _wal(connection: sqlite3.Connection) -> None:
    """Sets WAL mode. Two processes that make the file at once collide here, and SQLite does not wait by itself."""
    until = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.02)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        yield


def is_damage(error: Exception, connection: sqlite3.Connection | None) -> bool:
    """Whether an error says that the file is damaged. Values of another type than was written raise errors of Python.

    A file whose header is damaged may look full: then SQLite checks it.
    """
    if not isinstance(error, sqlite3.Error):
        return True
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):  # wrong use of the library
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # absent where Python, not SQLite, raised it
    if code == sqlite3.SQLITE_FULL and connection is not None:
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except (sqlite3.Error, ValueError):
            return True
    return code in _DAMAGE
