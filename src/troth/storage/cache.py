"""Cache of model answers on disk: one SQLite file in WAL mode, for any number of processes at once.

A row is (key, model, last used, answer). The key is a digest of everything that changes the answer; the file contains
no text of any dialogue. Answers are committed before they are returned, so that a killed process loses only its
current batch. A file above its size limit loses the least recently used answers first. Each answer is stored with a
digest of its key and itself, so that damaged answers are not used.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from troth.core.errors import UserError
from troth.core.names import Path as AnyPath
from troth.core.names import path_of
from troth.core.options import size as size  # noqa: PLC0414 (part of this module, too)
from troth.core.progress import note
from troth.storage import database, places
from troth.storage.database import HINT, MEMORY, SIZE, DamagedError, transaction

T = TypeVar("T")

DEFAULT_CACHE = ""  # stands for the file at the default path, see `places.scores`
LIMIT = 2_000_000_000  # bytes, unless TROTH_CACHE_LIMIT says otherwise
TARGET = 0.8  # share of its limit that a file is trimmed to
CHUNK = 5_000  # rows deleted at a time; other processes can write in between
PAUSE = 0.005  # seconds between two chunks
STALE = 24 * 3600  # seconds; precision of a row's last use, so that reading rarely writes
KEYS = 500  # keys in a SELECT
ATTEMPTS = 5  # with a file that other processes replace meanwhile
SEAL = 4  # bytes of an answer's digest

FIND = "SELECT key, value, used FROM answers WHERE key IN (" + ",".join("?" * KEYS) + ")"  # noqa: S608 (only marks)
OLDEST = (
    "DELETE FROM answers WHERE key IN (SELECT key FROM "  # noqa: S608
    f"(SELECT key, bytes, SUM(bytes) OVER (ORDER BY used, key) AS so_far FROM (SELECT used, key, {SIZE.format('')} AS "
    "bytes FROM answers ORDER BY used, key LIMIT ?)) WHERE so_far - bytes < ?)"
)
BY_MODEL = (
    f"SELECT name, COUNT(*), SUM({SIZE.format('')}), MAX(used) FROM answers JOIN models ON model = id "  # noqa: S608
    "GROUP BY name ORDER BY COUNT(*) DESC, name"
)


class ModelAnswers(NamedTuple):
    model: str
    answers: int
    bytes: int
    used: int  # seconds since the epoch, of the last use


class CacheSummary(NamedTuple):
    file: str
    bytes: int  # on disk
    answers: int
    limit: int
    models: tuple[ModelAnswers, ...]


def key(*parts: str) -> bytes:
    """A digest of the parts and their lengths, so that ("ab", "c") and ("a", "bc") differ."""
    data = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = b"".join(len(part).to_bytes(8, "little") for part in data)
    return blake2b(len(data).to_bytes(8, "little") + lengths + b"".join(data), digest_size=16).digest()


_OPENING = threading.RLock()  # held while a file is opened, after the store's own lock


class Store:
    """The cache in a file. It is opened on first use, and again after a fork: connections must not be inherited."""

    def __init__(self, path: str, *, limit: int = LIMIT) -> None:
        self.path, self.limit = path, limit
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._writable = True
        self._file: tuple[int, int] | None = None  # device and inode of the open file
        self._models: dict[str, int] = {}
        _STORES.add(self)

    def __del__(self) -> None:
        self.close()

    @classmethod
    def at(cls, cache: AnyPath | None) -> Store:
        """The cache in a file, at the default path (""), or only in the memory of this process (None)."""
        path = MEMORY if cache is None else path_of(cache) or str(places.scores())
        limit = os.environ.get("TROTH_CACHE_LIMIT")
        try:
            return cls(path, limit=size(limit) if limit else LIMIT)
        except UserError as error:
            raise UserError(f"TROTH_CACHE_LIMIT: {error.what}", hint=error.hint) from error

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        distinct = list(dict.fromkeys(keys))
        return self._with(lambda connection: self._get(connection, distinct)) if distinct else {}

    def _get(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        answers, stale = _select(connection, keys)
        if stale and self._writable:
            with transaction(connection):
                connection.executemany("UPDATE answers SET used = ? WHERE key = ?", stale)
        return answers

    def put(self, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Stores answers; they are committed on return, if the file is writable. An earlier answer to a key stays."""
        self._with(lambda connection: self._put(connection, model, rows))

    def _put(self, connection: sqlite3.Connection, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if not self._writable:
            return
        now = int(time.time())
        with transaction(connection):
            if model not in self._models:
                connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
                row = connection.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()
                self._models[model] = int(row[0])
            number = self._models[model]
            connection.executemany(
                "INSERT OR IGNORE INTO answers (key, model, used, value) VALUES (?, ?, ?, ?)",
                [(key, number, now, _seal(key, value) + value) for key, value in rows],
            )
        if _size_of_answers(connection) > self.limit:
            _drop(connection, int(TARGET * self.limit))

    def summary(self) -> CacheSummary:
        """Content of the file, model by model. Does not create the file."""
        if self.path != MEMORY and not os.path.lexists(self.path):
            return CacheSummary(self.path, 0, 0, self.limit, ())
        rows = self._with(lambda connection: connection.execute(BY_MODEL).fetchall())
        models = tuple(ModelAnswers(*row) for row in rows)
        return CacheSummary(self.path, self._bytes(), sum(model.answers for model in models), self.limit, models)

    def trim(self, to: int) -> int:
        """Drops the least recently used answers until the file has at most `to` bytes; returns the number dropped."""
        return self._with(lambda connection: self._trim(connection, to), writes=True)

    def _trim(self, connection: sqlite3.Connection, to: int) -> int:
        total = 0
        while True:
            _compact(connection)
            if (size := self._bytes()) <= to:
                return total
            # The size of a compact file is proportional to its rows; two percent more, so that one round is enough.
            dropped = _drop(connection, int(_size_of_answers(connection) * (1 - min(1.0, 1.02 * (1 - to / size)))))
            if not dropped:
                return total
            total += dropped

    def clear(self) -> int:
        """Drops all answers; returns their number. Model numbers stay: other processes may be about to use them."""

        def clear(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                (count,) = connection.execute("SELECT COUNT(*) FROM answers").fetchone()
                database.create_tables(connection)
            _compact(connection)
            return int(count)

        return self._with(clear, writes=True)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _with(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> T:
        """Calls `work` with the open connection. A damaged file is renamed, with a note, and a new one started."""
        with self._lock:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    connection = self._open()
                    if writes and not self._writable:
                        raise UserError("the cache is read-only", file=self.path, hint=HINT)
                    result = work(connection)
                    if not self._is_replaced() or attempt == ATTEMPTS:
                        return result
                except (sqlite3.Error, DamagedError, TypeError, ValueError, OverflowError) as error:
                    damaged = self._is_replaced() or database.is_damage(error, self._connection)
                    if attempt == ATTEMPTS or not damaged:
                        raise UserError(f"the cache cannot be used: {error}", file=self.path, hint=HINT) from error
                    self.close()
                    self._rename_damaged(str(error) if isinstance(error, DamagedError) else "is damaged")
            raise AssertionError("not reached")

    def _is_replaced(self) -> bool:
        """Whether the path no longer names the open file: another process renamed it, or somebody deleted it."""
        return self._inode() != self._file

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._is_replaced():
            self.close()
        if self._connection is None:
            was_writable = self._writable
            with database.folder_lock(self.path), _OPENING:
                try:
                    self._connection, self._writable = database.open_database(self.path)
                finally:
                    self._file = self._inode()
            self._models.clear()
            if was_writable and not self._writable:
                note(f"{self.path}: the cache is read-only: new answers are not kept")
        return self._connection

    def _inode(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except OSError:  # it does not exist, or is in memory
            return None
        return status.st_dev, status.st_ino

    def _rename_damaged(self, reason: str) -> None:
        """Renames the file. If several processes notice the damage, one of them does it."""
        aside = f"{self.path}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        try:
            with database.folder_lock(self.path):
                if self._file is None or self._is_replaced():
                    return  # another process was faster
                for end in (*database.SIDE_FILES, ""):
                    if os.path.exists(self.path + end):
                        os.replace(self.path + end, aside + end)
        except FileNotFoundError:
            return
        except OSError:  # it cannot be renamed: this process works without it
            note(f"{self.path}: the cache {reason} and read-only: it is not used")
            self.path = MEMORY
            return
        note(f"{self.path}: the cache {reason}; a new one is started, the old one is kept as {aside}")

    def _bytes(self) -> int:
        return sum(os.path.getsize(self.path + end) for end in ("", "-wal") if os.path.exists(self.path + end))


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_FORKING: list[Store] = []


def _before_fork() -> None:
    """Closes all files: an inherited connection loses its locks when the parent closes its own."""
    _FORKING.extend(_STORES)
    for store in _FORKING:
        store._lock.acquire()
        if store.path != MEMORY:
            store.close()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop()._lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _seal(key: bytes, value: bytes) -> bytes:
    return blake2b(key + value, digest_size=SEAL).digest()


def _select(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> tuple[dict[bytes, bytes], list[tuple[int, bytes]]]:
    """The answers, and (now, key) of those last used long ago."""
    answers: dict[bytes, bytes] = {}
    now = int(time.time())
    stale: list[tuple[int, bytes]] = []
    for start in range(0, len(keys), KEYS):
        chunk = keys[start : start + KEYS]
        chunk = [*chunk, *[chunk[-1]] * (KEYS - len(chunk))]  # always the same statement, which SQLite keeps prepared
        for key, value, used in connection.execute(FIND, chunk):
            answers[key] = value[SEAL:]
            if value[:SEAL] != _seal(key, answers[key]):
                raise DamagedError("is damaged")
            if now - used > STALE:
                stale.append((now, key))
    return answers, stale


def _compact(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _drop(connection: sqlite3.Connection, to: int) -> int:
    """Deletes the least recently used answers until they take at most `to` bytes; returns the number deleted."""
    total = 0
    while True:
        with transaction(connection):
            excess = _size_of_answers(connection) - to  # each time: another process may be doing the same
            dropped = connection.execute(OLDEST, (CHUNK, excess)).rowcount
        total += dropped
        if dropped < CHUNK:
            return total
        time.sleep(PAUSE)


def _size_of_answers(connection: sqlite3.Connection) -> int:
    """Approximate bytes of the answers; triggers keep the number up to date."""
    return int(connection.execute("SELECT bytes FROM held").fetchone()[0])
