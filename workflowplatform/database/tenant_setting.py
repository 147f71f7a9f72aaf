"""Set PostgreSQL's tenant of a transaction, on the journey of its next statement."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg
from django.db.backends.postgresql import base
from psycopg import sql
from psycopg.pq import TransactionStatus

from workflowplatform.database import tenancy
from workflowplatform.database.tenancy import NOBODY, VisibleTenants

SUFFIX = "_crossing"
"""What the role in which an application role crosses tenants is called, behind that role's own name."""
FIND = """
SELECT r.rolname FROM pg_catalog.pg_roles r
WHERE r.rolname = current_user || %s AND pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
"""

_found: dict[tuple[str, int, str], str | None] = {}
"""The crossing roles that were found. Roles belong to a server: each is looked up once per process."""

Setting = tuple[str, str]
"""A name and a value."""

TELLER = "_teller"
_Plain: Any = base.Cursor
_ServerSide: Any = base.ServerSideCursor


class Teller:
    """What one connection has told the server in the transaction that is open."""

    __slots__ = ("_driver", "_role", "told")

    def __init__(self, driver: psycopg.Connection[Any], role: str) -> None:
        self._driver, self._role = driver, role
        self.told: VisibleTenants | None = NOBODY
        """None where that is not known, as after a savepoint was rolled back."""

    def words(self) -> str:
        """Return what to say before the next statement; empty where the server knows."""
        status = self._driver.pgconn.transaction_status
        if status == TransactionStatus.INERROR:
            return ""  # nothing but a rollback comes next
        return telling(self.change(tenancy.wanted(), is_fresh=status == TransactionStatus.IDLE))

    def change(self, wanted: VisibleTenants, *, is_fresh: bool) -> list[Setting]:
        """Note the scope, and return the settings in which it differs from what the transaction has."""
        before, self.told = NOBODY if is_fresh else self.told, wanted
        if before == wanted:
            return []
        return [
            (name, value)
            for name, value, old in (
                ("wf.tenant", _text(wanted.tenant), before and _text(before.tenant)),
                ("wf.guest", _text(wanted.guest), before and _text(before.guest)),
                ("role", self._role_of(wanted), before and self._role_of(before)),
            )
            if value != old
        ]

    def _role_of(self, scope: VisibleTenants) -> str:
        return self._role if scope.crosses else "none"


def _text(value: UUID | None) -> str:
    return str(value) if value else ""


def telling(settings: Sequence[Setting]) -> str:
    """Write the statement that makes settings which end with the transaction; none where there are none.

    Values are ids of ours and the name of a role, never a person's words.
    """
    made = (f"set_config('{name}', '{value}', true)" for name, value in settings)
    return f"SELECT {', '.join(made)}" if settings else ""


def teller_of(driver: psycopg.Connection[Any]) -> Teller | None:
    """Return who tells on this connection; None where its role needs no telling, since it owns the tables."""
    found: Teller | None = vars(driver).get(TELLER)
    return found


def introduce(driver: psycopg.Connection[Any]) -> None:
    """Find out whether a new connection belongs to an application role, which sees what it is told to see."""
    role = _crossing_role(driver)
    vars(driver)[TELLER] = Teller(driver, role) if role else None


def _crossing_role(driver: psycopg.Connection[Any]) -> str | None:
    info = driver.info
    key = (info.host, info.port, info.user)
    if key not in _found:
        before, driver.autocommit = driver.autocommit, True
        row = psycopg.Cursor(driver).execute(FIND, [SUFFIX]).fetchone()
        driver.autocommit = before
        _found[key] = row[0] if row else None
    return _found[key]


class Cursor(_Plain):  # type: ignore[misc]
    """Django's cursor, which tells before it asks: both are one message to the server."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        words = self._words()
        if not words:
            return super().execute(query, params, **options)
        super().execute(_behind(words, query), params, **options)
        self.nextset()
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        """Send the settings first: many statements travel in another way. Outside a transaction each is one by itself."""
        if not self.connection.autocommit:
            if words := self._words():
                super().execute(words)
            super().executemany(query, params_seq, **options)
            return
        for params in params_seq:
            self.execute(query, params)

    def _words(self) -> str:
        teller = teller_of(self.connection)
        return teller.words() if teller else ""


class ServerSideCursor(_ServerSide):  # type: ignore[misc]
    """Django's cursor for long lists, which tells as it is declared: in one transaction with that."""

    _words = ""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """Ask what to tell before the driver begins a transaction: behind that nobody knows that it is fresh."""
        teller = teller_of(self.connection)
        self._words = teller.words() if teller else ""
        return super().execute(query, params, **options)

    def _execute_send(self, query: Any, *, force_extended: bool = False, binary: bool | None = None) -> None:
        words, self._words = self._words, ""
        if not words:
            super()._execute_send(query, force_extended=force_extended, binary=binary)
            return
        self._query = query
        self._pgconn.send_query(f"{words}; ".encode() + query.query)


def _behind(words: str, query: Any) -> Any:
    """Put a statement behind what is told; both have no `%` of the other."""
    if isinstance(query, sql.Composable):
        return sql.SQL(f"{words}; ") + query
    text = query.decode() if isinstance(query, bytes) else query
    return f"{words}; {text}"
