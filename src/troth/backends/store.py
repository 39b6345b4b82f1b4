"""Answers of models on disk: one SQLite file in WAL mode, for any number of processes at once.

A row is (key, model, last used, answer). The key is a digest of everything that moves the answer; the file holds no
text of any dialogue. What is written is committed before anyone gets to see it, so a killed process loses nothing but
the batch that it was at. When the file grows beyond its limit, the answers that were not used for longest go first.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeVar

from troth.backends import USUAL, place
from troth.backends.locks import locked
from troth.backends.progress import note
from troth.errors import UserError

T = TypeVar("T")

LAYOUT = 1  # of the tables; SQLite's user_version
OURS = 1953656692  # "trot": SQLite's application_id, so that no other program's file is taken for a cache
BUSY = 60.0  # seconds to wait for another process
LIMIT = 2_000_000_000  # bytes, unless TROTH_CACHE_LIMIT says otherwise
ROOM = 0.8  # a file over its limit is trimmed to this share of it
OFTEN = 2_000  # rows written between two looks at the size
STALE = 24 * 3600  # seconds; a row's last use is known to this grain, so that reading hardly ever writes
AT_ONCE = 500  # keys in a SELECT
ROW = 40  # bytes of a row beside its answer, about

BEGINNING = (
    "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, model INTEGER NOT NULL, used INTEGER NOT NULL, "
    "value BLOB NOT NULL) WITHOUT ROWID",
    "PRAGMA application_id = 1953656692",
    "PRAGMA user_version = 1",
)
FIND = "SELECT key, value, used FROM answers WHERE key IN (" + ",".join("?" * AT_ONCE) + ")"  # noqa: S608 (nothing but marks)
OLDEST = (
    "DELETE FROM answers WHERE key IN (SELECT key FROM (SELECT key, "
    "SUM(length(value) + ?) OVER (ORDER BY used, key) - length(value) AS before FROM answers) WHERE before < ?)"
)
HELD = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Kept(NamedTuple):
    """What the cache holds of one model."""

    model: str
    answers: int
    bytes: int
    used: int  # seconds since the epoch, of the last use


class Summary(NamedTuple):
    file: str
    bytes: int  # on disk
    answers: int
    limit: int
    models: tuple[Kept, ...]


def key(*parts: str) -> bytes:
    """A digest of the parts; their lengths are in it, so ("ab", "c") and ("a", "bc") differ."""
    data = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = b"".join(len(part).to_bytes(8, "little") for part in data)
    return blake2b(len(data).to_bytes(8, "little") + lengths + b"".join(data), digest_size=16).digest()


def size(text: str) -> int:
    """Bytes from "500MB", "2 GB", "1000000"."""
    number = text.strip().upper().removesuffix("B").rstrip()
    unit = number[-1:] if number[-1:] in UNITS else ""
    try:
        found = float(number.removesuffix(unit)) * UNITS[unit]
        if not 0 <= found < 2**60:
            raise ValueError
    except ValueError as error:
        raise UserError(f"'{text}' is no size", hint="such as 500MB or 2GB") from error
    return int(found)


def limit() -> int:
    own = os.environ.get("TROTH_CACHE_LIMIT")
    return size(own) if own else LIMIT


class Store:
    """The file. Opened on first use, and again in a forked process, which must not share a connection."""

    def __init__(self, path: str, *, limit: int = LIMIT) -> None:
        self.path, self.limit = path, limit
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._file: tuple[int, int] | None = None  # which file the connection has, whatever the path names by now
        self._models: dict[str, int] = {}
        self._written = 0

    @classmethod
    def at(cls, cache: str | None) -> Store:
        """The store that `--cache` means: a file, the usual place, or None for this process's memory alone."""
        return cls(":memory:" if cache is None else str(place.scores()) if cache == USUAL else cache, limit=limit())

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that are there."""
        distinct = list(dict.fromkeys(keys))
        return self._with(lambda connection: _found(connection, distinct)) if distinct else {}

    def put(self, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep answers; on return they are in the file. One that is there already stays."""
        self._with(lambda connection: self._put(connection, model, rows))

    def _put(self, connection: sqlite3.Connection, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        now = int(time.time())
        with _transaction(connection):
            if model not in self._models:
                connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
                found = connection.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()
                self._models[model] = int(found[0])
            number = self._models[model]
            connection.executemany(
                "INSERT OR IGNORE INTO answers (key, model, used, value) VALUES (?, ?, ?, ?)",
                [(key, number, now, value) for key, value in rows],
            )
        self._written += len(rows)
        if self._written >= OFTEN:
            self._written = 0
            if (held := _held(connection)) > self.limit:
                _drop(connection, 1 - ROOM * self.limit / held)

    def summary(self) -> Summary:
        rows = self._with(
            lambda connection: connection.execute(
                "SELECT name, COUNT(*), SUM(length(value) + ?), MAX(used) FROM answers JOIN models ON model = id "
                "GROUP BY name ORDER BY COUNT(*) DESC, name",
                (ROW,),
            ).fetchall()
        )
        models = tuple(Kept(*row) for row in rows)
        return Summary(self.path, self._bytes(), sum(kept.answers for kept in models), self.limit, models)

    def trim(self, to: int) -> int:
        """Drop what was not used for longest until the file has at most `to` bytes; how many answers went."""
        return self._with(lambda connection: self._trim(connection, to))

    def _trim(self, connection: sqlite3.Connection, to: int) -> int:
        gone = 0
        while True:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            held = _held(connection)
            if held <= to:
                return gone
            # A packed file's size is in proportion to its rows; two in a hundred more, so that one round does.
            dropped = _drop(connection, min(1.0, 1.02 * (1 - to / held)))
            if not dropped:
                return gone
            gone += dropped

    def clear(self) -> int:
        """Drop all answers."""

        def work(connection: sqlite3.Connection) -> int:
            with _transaction(connection):
                gone = connection.execute("DELETE FROM answers").rowcount
                connection.execute("DELETE FROM models")
            self._models.clear()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return gone

        return self._with(work)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    # -- the file ------------------------------------------------------------------------------------------------------

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the connection. A damaged file is put aside, with a note, and a new one begun."""
        with self._lock:
            for last in (False, True):
                try:
                    return work(self._opened())
                except sqlite3.Error as error:
                    if last or not _damaged(error):
                        raise self._refusal(error) from error
                    self.close()
                    self._put_aside()
            raise AssertionError("not reached")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():
            try:
                if self.path != ":memory:":
                    Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"no cache can be made there: {error.strerror}", file=self.path, hint=HINT) from error
            self._file = self._inode()
            connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                _prepared(connection, self.path)
                self._file = self._file or self._inode()
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, os.getpid()
            self._models.clear()
        return self._connection

    def _refusal(self, error: sqlite3.Error) -> UserError:
        return UserError(f"the cache cannot be used: {error}", file=self.path, hint=HINT)

    def _inode(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _put_aside(self) -> None:
        """Rename the damaged file. Of several processes that find it, one does: they queue for a lock on that file."""
        try:
            with open(self.path, "rb") as file, locked(file.fileno()):
                if self._file is None or self._inode() != self._file:
                    return  # another process was faster
                aside = f"{self.path}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
                for end in ("-wal", "-shm", ""):
                    if os.path.exists(self.path + end):
                        os.replace(self.path + end, aside + end)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError(f"is damaged and cannot be renamed: {error.strerror}", file=self.path, hint=HINT) from error
        note(f"{self.path}: the cache is damaged; a new one is begun, the old one is kept as {aside}")

    def _bytes(self) -> int:
        return sum(os.path.getsize(self.path + end) for end in ("", "-wal") if os.path.exists(self.path + end))


HINT = "name another file with --cache, or use --no-cache"


def _found(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    now = int(time.time())
    stale: list[tuple[int, bytes]] = []
    for start in range(0, len(keys), AT_ONCE):
        asked = keys[start : start + AT_ONCE]
        asked = [*asked, *[asked[-1]] * (AT_ONCE - len(asked))]  # always the same statement, which SQLite keeps ready
        for key, value, used in connection.execute(FIND, asked):
            found[key] = value
            if now - used > STALE:
                stale.append((now, key))
    if stale:
        with _transaction(connection):
            connection.executemany("UPDATE answers SET used = ? WHERE key = ?", stale)
    return found


def _prepared(connection: sqlite3.Connection, path: str) -> None:
    """Ours and of this layout, or made so if it is new."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    if application != OURS and tables:
        raise UserError("is a database of another program", file=path, hint=HINT)
    if layout > LAYOUT:
        raise UserError("was written by a newer troth", file=path, hint=HINT)
    _wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")  # what is committed outlives a killed process
    if layout < LAYOUT:
        with _transaction(connection):
            for statement in BEGINNING:
                connection.execute(statement)


def _wal(connection: sqlite3.Connection) -> None:
    """Two processes that make the file at once get in each other's way here, and SQLite does not wait by itself."""
    until = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _drop(connection: sqlite3.Connection, share: float) -> int:
    """Delete that share of the bytes, what was used last longest ago first."""
    with _transaction(connection):
        (total,) = connection.execute("SELECT COALESCE(SUM(length(value) + ?), 0) FROM answers", (ROW,)).fetchone()
        return connection.execute(OLDEST, (ROW, ROW + share * total)).rowcount


def _held(connection: sqlite3.Connection) -> int:
    """Bytes of the file that hold something."""
    return int(connection.execute(HELD).fetchone()[0])


def _damaged(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)  # absent where Python, not SQLite, found fault
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
