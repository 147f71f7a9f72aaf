"""Do the same writes with nothing but psycopg: the commit statements of real slices, played again under fresh ids.

What is recorded is the statement's text and its rows. Playing it again costs the client a few joins of text and one statement in
autocommit, so that it is what a careful hand could reach with this schema, its constraints and its triggers. The text is that of
benchmarks/sql, reviewed there; a test compares it with what engine.runtime.commit composes.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import psycopg
from django.db import connection

from workflowplatform.database.hot import Hot
from workflowplatform.ids import uuid7
from workflowplatform.servers.postgres import ROLE

UUID_TEXT = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
COMMIT_MARK = "json_to_record"
SETTLED = ("wf_tenants", "wf_people", "wf_roles", "wf_templates", "wf_template_versions")
"""Tables whose ids stay: everything else is written anew each time."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One commit statement with its rows cut at the ids that change."""

    text: str
    pieces: dict[str, list[str]]

    def values(self, fresh: dict[str, str]) -> dict[str, str]:
        """Write the rows with fresh ids."""
        return {part: "".join(fresh.get(piece, piece) for piece in pieces) for part, pieces in self.pieces.items()}


@dataclass(frozen=True, slots=True)
class Recording:
    """The commits of one unit of work, in order."""

    commits: tuple[Recorded, ...]
    changing: frozenset[str]

    def fresh(self) -> dict[str, str]:
        """Return a new id for each that changes."""
        return {old: str(uuid7()) for old in self.changing}


@contextmanager
def recorded() -> Iterator[list[tuple[str, dict[str, str]]]]:
    """Provide the list to which every commit statement within the block is added, with its rows."""
    kept: list[tuple[str, dict[str, str]]] = []
    send = Hot._send

    def keeping(self: Hot, statement: str, values: Any, prepare: bool) -> Any:
        if COMMIT_MARK in statement:
            kept.append((statement, dict(values)))
        return send(self, statement, values, prepare)

    with patch.object(Hot, "_send", keeping):
        yield kept


def recording_of(kept: Sequence[tuple[str, dict[str, str]]], *, strict: bool = True) -> Recording:
    """Make what was kept ready to be played again; strictly: only statements that were reviewed."""
    settled = _settled_ids()
    seen = {found for _, values in kept for text in values.values() for found in UUID_TEXT.findall(text)}
    commits = [Recorded(text, {part: UUID_TEXT.split(rows) for part, rows in values.items()}) for text, values in kept]
    return Recording(tuple(commits), frozenset(seen - settled))


def _settled_ids() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT id FROM {table}" for table in SETTLED))
        return {str(row[0]) for row in cursor.fetchall()}


def connect() -> psycopg.Connection[Any]:
    """Open a connection of one's own to the measured database, as the owner: by hand nobody is behind a wall."""
    known = connection.get_connection_params()
    return psycopg.connect(host=known["host"], user=ROLE, dbname=known["dbname"], autocommit=True)


def play(cursor: psycopg.Cursor[Any], commit: Recorded, fresh: dict[str, str]) -> None:
    """Write one commit again."""
    cursor.execute(commit.text, commit.values(fresh), prepare=True)
