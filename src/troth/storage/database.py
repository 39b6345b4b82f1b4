"""The SQLite file of the cache: created whole, opened only if it belongs to troth, read if it cannot be written.

A file belongs to troth if SQLite's application_id says so, or, where that is damaged, if its first page defines the
tables of the cache. Any other file is left unchanged. The file at the default path belongs to troth in any case.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from troth.core.errors import UserError
from troth.storage import places
from troth.storage.files import publish
from troth.storage.locks import lock
from troth.storage.unfinished import temporary_sibling

MEMORY = ":memory:"
LAYOUT = 2  # of the tables; SQLite's user_version
APPLICATION = 1953656692  # "trot"; SQLite's application_id
BUSY = 60.0  # seconds to wait for another process that writes
OPENING = 10.0  # seconds to wait for another process that opens the file
SIZE = "length({}value) * 4 / 3 + 55"  # approximate bytes of a row on disk, with its index entry and free space
HINT = "name another cache file, or disable the cache"
SIDE_FILES = ("-wal", "-shm", "-journal")  # endings of the files that SQLite keeps beside a database

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "DROP TABLE IF EXISTS answers",
    "CREATE TABLE answers (key BLOB PRIMARY KEY, model INTEGER NOT NULL, used INTEGER NOT NULL, value BLOB NOT NULL) "
    "WITHOUT ROWID",
    "CREATE INDEX oldest ON answers (used)",
    "DROP TABLE IF EXISTS held",
    "CREATE TABLE held AS SELECT 0 AS bytes",
    f"CREATE TRIGGER came AFTER INSERT ON answers BEGIN UPDATE held SET bytes = bytes + ({SIZE.format('NEW.')}); END",  # noqa: S608 (no input)
    f"CREATE TRIGGER went AFTER DELETE ON answers BEGIN UPDATE held SET bytes = bytes - ({SIZE.format('OLD.')}); END",  # noqa: S608
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {LAYOUT}",
)
TABLES = 3
STATE = (  # one statement, for a consistent view
    "SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_master WHERE type = 'table') "
    "FROM pragma_application_id, pragma_user_version"
)

_MAGIC = b"SQLite format 3\0"
_TABLE = b"CREATE TABLE answers (key BLOB PRIMARY KEY, model INTEGER"
_PAGE = 4096  # bytes
_ID = slice(68, 72)  # position of the application_id in the header
_JOURNAL = 64_000_000  # bytes that the WAL file keeps after a checkpoint
_DAMAGE = {  # SQLite's error codes for a damaged file; all other errors have other causes
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_RANGE, sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,  # from the header of a file that is writable
}  # fmt: skip

_CHECKED: set[tuple[int, int]] = set()  # device and inode of files whose first page was read by this process


class DamagedError(Exception):
    """The file cannot be used as a cache any more; the message completes "the cache …"."""


def folder_lock(path: str) -> AbstractContextManager[None]:
    """One process at a time opens the file or renames it: SQLite uses any `-wal` file beside a database."""
    return lock(os.path.dirname(os.path.realpath(path)), OPENING)


def open_database(path: str) -> tuple[sqlite3.Connection, bool]:
    """A connection to the cache in a file, which is created if it is missing; and whether it is writable."""
    if path == MEMORY:
        connection = _connect(path)
        create_tables(connection)
        return connection, True
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if not os.path.exists(path):
            _create_file(os.path.realpath(path))
        _check_owner(path)
        writable = all(os.access(name, os.W_OK) for name in (path, os.path.dirname(os.path.realpath(path))))
    except OSError as error:
        raise UserError(f"cannot create a cache there: {error.strerror}", file=path, hint=HINT) from error
    connection = _connect(path if writable else f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1")
    try:
        _check_layout(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")  # committed answers survive a killed process
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL}")
    except BaseException:
        connection.close()
        raise
    return connection, writable


def _connect(name: str) -> sqlite3.Connection:
    uri = name.startswith("file:")
    return sqlite3.connect(name, timeout=BUSY, isolation_level=None, check_same_thread=False, uri=uri)


def _create_file(path: str) -> None:
    """Creates an empty cache under a temporary name and moves it to `path`, so that no file is ever half a cache."""
    with temporary_sibling(Path(path), folder=False) as part:
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                with transaction(connection):
                    create_tables(connection)
        except sqlite3.Error as error:
            raise UserError(f"cannot create a cache there: {error}", file=path, hint=HINT) from error
        with suppress(FileExistsError):  # another process was faster
            publish(part, Path(path))


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA:
        connection.execute(statement)


def _check_owner(path: str) -> None:
    """Refuses a file that is not a cache of troth.

    The first page is read once per process, before the first connection: closing any descriptor of a file releases all
    locks of the process on it, including those of its connections.
    """
    if not os.path.isfile(path):
        raise UserError("is not a file", file=path, hint=HINT)
    status = os.stat(path)
    if (status.st_dev, status.st_ino) in _CHECKED:
        return
    with open(path, "rb") as file:
        page = file.read(_PAGE)
    if not (page[_ID] == APPLICATION.to_bytes(4, "big") or _TABLE in page or _is_default(path)):
        reason = "is a database of another program" if page.startswith(_MAGIC) else "is not a cache of troth"
        raise UserError(reason, file=path, hint=HINT)
    _CHECKED.add((status.st_dev, status.st_ino))


def _is_default(path: str) -> bool:
    with suppress(UserError):  # there is no home directory
        return os.path.realpath(path) == os.path.realpath(places.scores())
    return False


def _check_layout(connection: sqlite3.Connection, path: str) -> None:
    application, layout, tables = connection.execute(STATE).fetchone()
    if application == APPLICATION and layout > LAYOUT:
        raise UserError("was written by a newer troth", file=path, hint=HINT)
    if application == APPLICATION and layout < LAYOUT:
        raise DamagedError("is of an older version")
    if application != APPLICATION or tables != TABLES:
        raise DamagedError("is damaged")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        yield


def is_damage(error: Exception, connection: sqlite3.Connection | None) -> bool:
    """Whether an error means that the file is damaged. Values of a wrong type raise Python's own errors.

    A file with a damaged header may look full: then SQLite checks it.
    """
    if not isinstance(error, sqlite3.Error):
        return True
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):  # wrong use of the library
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # missing if Python raised the error
    if code == sqlite3.SQLITE_FULL and connection is not None:
        try:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        except (sqlite3.Error, ValueError):
            return True
    return code in _DAMAGE
