"""The one table of expected answers: who may do what along every route of the product.

table.txt has a line for every route and method: the answer without signing in, then the levels 1 to 6 with rows of their own
tenant, then the same levels with rows of another tenant, which is also what they get for rows that nobody has. A `+` says
that something was written. The last column names the scope that a narrowed token needs for it (`-`: no narrowed token will
do, `open`: anybody may). A route without a line is red.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

LINES = Path(__file__).with_name("table.txt")
NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """What one route answers by one method."""

    stranger: str
    own: tuple[str, ...]
    others: tuple[str, ...]
    """Empty where a request names no rows."""
    scope: str
    """Empty for pages, which no token opens."""
    leaves: frozenset[str]
    """Tables in which asking for another tenant's row leaves rows in one's own: what is written under a name is one's own."""
    tells: frozenset[str]
    """Tables of the tenant whose row is named that keep who asked: a failed sign-in is in the person's chain."""
    crosses: bool
    """Whether level 6 sees and changes all tenants here."""


class Table:
    """The table, as the walk asks it."""

    def __init__(self, rows: dict[tuple[str, str], Row]) -> None:
        self.rows = rows

    @classmethod
    def read(cls, text: str = "") -> Table:
        """Read the lines; a route that is listed twice is an error."""
        rows: dict[tuple[str, str], Row] = {}
        for line in (text or LINES.read_text()).splitlines():
            if line.strip() and not line.startswith("#"):
                key, row = _read(line)
                if key in rows:
                    raise ValueError(f"{key} stands in the table twice")
                rows[key] = row
        return cls(rows)

    def expected(self, ask: Any) -> tuple[str, ...]:
        """Return how a request may be answered; nothing where the table has no line."""
        row = self.rows.get((ask.method, ask.route.address))
        if row is None:
            return NOTHING
        if ask.who.user is None or (ask.who.scopes and not row.scope):
            return tuple(row.stranger.split("/"))
        if ask.who.scopes and row.scope not in ("open", *ask.who.scopes):
            return ("403",)
        levels = row.own if ask.cell == "own" or not row.others else row.others
        return tuple(levels[ask.who.level - 1].split("/"))

    def leaves(self, ask: Any) -> frozenset[str]:
        row = self.rows.get((ask.method, ask.route.address))
        return row.leaves if row else frozenset()

    def tells(self, ask: Any) -> frozenset[str]:
        """Name the tables in which a request leaves a note with the tenant that it names."""
        row = self.rows.get((ask.method, ask.route.address))
        return row.tells if row else frozenset()

    def crosses(self, ask: Any) -> bool:
        row = self.rows.get((ask.method, ask.route.address))
        return row is not None and row.crosses and ask.who.level == 6


def _read(line: str) -> tuple[tuple[str, str], Row]:
    asked, own, others, *more = (part.split() for part in line.split("|"))
    method, route, stranger = asked
    scope, *notes = more[0] if more and more[0] else [""]
    left, told = (_tables(notes, word) for word in ("leaves=", "tells="))
    six = tuple(own) if len(own) == 6 else tuple(own) * 6
    row = Row(
        stranger,
        six,
        () if others == ["-"] else tuple(others) if len(others) == 6 else tuple(others) * 6,
        "" if scope == "page" else scope,
        left,
        told,
        "crosses" in notes,
    )
    return (method, route.removeprefix("/")), row


def _tables(notes: list[str], word: str) -> frozenset[str]:
    return frozenset(name for note in notes if note.startswith(word) for name in note.removeprefix(word).split(","))
