"""Read the write-ahead log of a server on this machine: what was written, entry by entry, and how many bytes that took.

The counters of `pg_stat_user_tables` say how many rows came and how many updates touched indexes, but not which indexes, so that
conditions of partial ones would have to be left aside. The log says exactly what was inserted where, and by which transaction.
Bytes are those of the records: without images of whole pages, which depend on when the last checkpoint was, and, told apart, what
it costs to split and prune pages, which depends on what happens to be in them.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflowplatform.servers.paths import data_folder
from workflowplatform.servers.postgres import find_binaries

Run = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement by itself and returns its rows."""

RECORD = re.compile(
    r"^rmgr: (?P<manager>\w+) +len \(rec/tot\): +(?P<length>\d+)/ *\d+, tx: +(?P<xid>\d+),.*? desc: (?P<kind>\S+)(?P<rest>.*)$"
)
PLACE = re.compile(r"blkref #0: rel \d+/(\d+)/(\d+)")
"""Databases copied from one template have the same file numbers: only with the database's own number is a file named."""
LEVEL = re.compile(r"level: (\d+)")
TUPLES = re.compile(r"ntuples: (\d+)")
ENTRIES = {"INSERT_LEAF", "INSERT_POST"}
SPLITS = {"SPLIT_L", "SPLIT_R"}
UPDATES = {"UPDATE", "HOT_UPDATE", "UPDATE+INIT", "HOT_UPDATE+INIT"}
INSERTS = {"INSERT", "MULTI_INSERT"}
HOUSEKEEPING = SPLITS | {
    "PRUNE", "INSERT_UPPER", "NEWROOT", "VACUUM", "DEDUP", "DELETE", "VISIBLE", "FPI", "FPI_FOR_HINT", "INPLACE",
}  # fmt: skip
HEAP = {"Heap", "Heap2"}
ALIGNED = 8
"""Every record begins at a multiple of so many bytes."""
FLUSH = "SELECT pg_logical_emit_message(true, 'counted', ''), set_config('synchronous_commit', 'on', true)"
"""Answers where its message ends. Once committed, all before that is on the disk; what others write after it may not be."""
RELATIONS = """
SELECT d.oid, pg_relation_filenode(c.oid), whole.relname, c.relkind = 'i'
FROM pg_database d, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class whole ON whole.oid = coalesce(pg_partition_root(c.oid), c.oid)
WHERE d.datname = current_database() AND n.nspname NOT IN ('pg_catalog', 'information_schema')
AND pg_relation_filenode(c.oid) IS NOT NULL
"""
"""A partition, and an index of one, goes by the name of the whole."""
OVERFLOW = "pg_toast"
"""How the names of tables begin that hold what is too long for its row."""


@dataclass(slots=True)
class Log:
    """What was written to the tables of one database."""

    rows: Counter[str] = field(default_factory=Counter)
    """How many rows were inserted into each table."""
    entries: Counter[str] = field(default_factory=Counter)
    """How many entries each index took."""
    updates: int = 0
    in_place: int = 0
    """Updates that touched no index."""
    records: Counter[str] = field(default_factory=Counter)
    """How many bytes went where, without housekeeping, by what was done to which table or index."""
    housekeeping: int = 0
    """How many bytes splitting and pruning pages took."""

    @property
    def bytes(self) -> int:
        """Return how many bytes the records took that do not depend on chance."""
        return self.records.total()


def log_folder() -> Path:
    """Return where the server that belongs to this process's data folder writes its log."""
    return data_folder().server_home() / "postgres" / "pg_wal"


@dataclass(slots=True)
class Reader:
    """A place in the log of a server, from which it is read on."""

    run: Run
    begin: str = ""

    def __post_init__(self) -> None:
        self.begin = self._place()

    def read(self) -> Log:
        """Return what was written since, by whatever session."""
        end = self._place()
        command = [
            str(find_binaries() / "pg_waldump"),
            "--path",
            str(log_folder()),
            "--start",
            self.begin,
            "--end",
            end,
        ]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        relations = {(database, file): (name, index) for database, file, name, index in self.run(RELATIONS)}
        return count(found.splitlines(), relations)

    def _place(self) -> str:
        """Return where the log ends, once all of it is on the disk."""
        return str(self.run(FLUSH)[0][0])


def count(lines: Iterable[str], relations: Mapping[tuple[int, int], tuple[str, bool]]) -> Log:
    """Count the records that concern these relations, and the commits of their transactions."""
    log, commits, ours = Log(), Counter[int](), set[int]()
    for manager, length, xid, kind, rest in _records(lines):
        if manager == "Transaction":
            commits[xid] += length
        place = PLACE.search(rest)
        relation = place and relations.get((int(place[1]), int(place[2])))
        if not relation:
            continue
        ours.add(xid)
        name, is_index = relation
        _note(log, name, is_index, kind=kind, length=length, rest=rest)
        if manager in HEAP:
            _note_rows(log, name, kind, rest)
    log.records["COMMIT"] = sum(commits[xid] for xid in ours)
    return log


def _records(lines: Iterable[str]) -> Iterator[tuple[str, int, int, str, str]]:
    for line in lines:
        if found := RECORD.match(line):
            length = -(-int(found["length"]) // ALIGNED) * ALIGNED
            yield found["manager"], length, int(found["xid"]), found["kind"], found["rest"]


def _note_rows(log: Log, table: str, kind: str, rest: str) -> None:
    """Note how many rows came, and how a row changed."""
    if kind in UPDATES:
        log.updates += 1
        log.in_place += kind.startswith("HOT")
    elif kind.removesuffix("+INIT") in INSERTS and not table.startswith(OVERFLOW):
        several = TUPLES.search(rest)
        log.rows[table] += int(several[1]) if several else 1


def _note(log: Log, name: str, is_index: bool, *, kind: str, length: int, rest: str) -> None:
    """Note one record; splitting a leaf inserts an entry too."""
    if is_index and (kind in ENTRIES or (kind in SPLITS and LEVEL.search(rest + " level: 0")[1] == "0")):  # type: ignore[index]
        log.entries[name] += 1
    if kind in HOUSEKEEPING:
        log.housekeeping += length
    else:
        log.records[f"{kind.removesuffix('+INIT')} {name}"] += length
