"""Run hot statements with as little as possible around them.

An act is BEGIN, a statement that reads under locks, a statement that writes, COMMIT. Sent one after the other, much of a short
act is the round trip. Here BEGIN travels with the first statement and COMMIT with the last, and while the server writes, this
process composes its answer. Statements are prepared once per connection and stay so after a rollback. All of that is libpq's
pipeline mode, through psycopg's low-level interface; psycopg's cursors in that mode cost as much as they save.

A plan is kept for as long as the connection, so one made while a table was small would read it whole when it has grown. Therefore
transactions in which a hot statement runs plan by indexes only, from that statement on
(docs/decisions/0045-plans-that-never-scan.md). Lists and reports run in others.

The connection is in pipeline mode only while answers are outstanding. Any other use waits for them first
(`workflowplatform.database.base` sees to that), so that an error is raised in the transaction and savepoint that it belongs to.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg import generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from workflowplatform.database.tenancy import wanted
from workflowplatform.database.tenant_setting import Setting, teller_of

Values = Sequence[Any] | Mapping[str, Any]
Rows = list[tuple[Any, ...]]

PLACE = re.compile(r"%(?:\((\w+)\)s|(s)|(%))")
TEXT = 25
"""PostgreSQL's number for the type text."""
MOST_PLANS = 200
"""How many statements a connection keeps prepared; others run unprepared. In practice a few dozen shapes recur."""

NOT_BY_LOOKUP = ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "material")
BY_INDEX: list[Setting] = [*((f"enable_{way}", "off") for way in NOT_BY_LOOKUP), ("jit", "off")]
"""Find rows one by one: a plan made while a table was small is kept when it has grown, and each of these then reads the whole
table or all of a tenant's rows. Up to PostgreSQL 17 a way that is off and has no other looks so costly that the statement is
compiled."""


@lru_cache(maxsize=1_000)
def _numbered(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """Write a statement's places as the server numbers them; return the names in that order, none where they are positions."""
    names: dict[str, int] = {}
    positions = count(1)

    def number(found: re.Match[str]) -> str:
        if found[3]:
            return "%"
        return f"${names.setdefault(found[1], len(names) + 1) if found[1] else next(positions)}"

    return PLACE.sub(number, statement).encode(), tuple(names)


@cache
def _settings(number: int) -> bytes:
    """Write the statement that makes so many settings; they end with the transaction."""
    return f"SELECT {', '.join(f'set_config(${2 * n + 1}, ${2 * n + 2}, true)' for n in range(number))}".encode()


class _Plan:
    """A statement as this connection knows it: its name at the server, if it has one, and how its rows are read."""

    __slots__ = ("_knows_columns", "_transformer", "is_prepared", "name", "sql", "types")

    def __init__(self, driver: psycopg.Connection[Any], sql: bytes, types: tuple[int, ...], name: bytes) -> None:
        self.sql, self.types, self.name = sql, types, name
        self.is_prepared = self._knows_columns = False
        self._transformer = Transformer(driver)

    def rows(self, result: PGresult) -> Rows:
        self._transformer.set_pgresult(result, set_loaders=not self._knows_columns)
        self._knows_columns = True
        return self._transformer.load_rows(0, result.ntuples, tuple)


class Hot:
    """The short way of one connection."""

    def __init__(self, driver: psycopg.Connection[Any]) -> None:
        self._driver, self._server = driver, driver.pgconn
        self._dumper = Transformer(driver)
        self._plans: dict[tuple[bytes, tuple[int, ...]], _Plan] = {}
        self._outstanding: list[_Plan | None] = []
        """What was sent and not yet answered, in order: a plan where it is being prepared, else None."""
        self.plans_by_index = False
        """Whether the open transaction was told to."""

    @property
    def is_settled(self) -> bool:
        return not self._outstanding

    def run(self, statement: str, values: Values, *, prepare: bool) -> Rows:
        """Run a statement and return its rows; whatever was sent before is settled by that."""
        plan = self._send(statement, values, prepare)
        return plan.rows(self._receive()[-1])

    def run_together(self, asked: Sequence[tuple[str, Values]], *, prepare: bool) -> list[Rows]:
        """Run statements one after the other on one journey; return the rows of each."""
        sent = [(self._send(statement, values, prepare), len(self._outstanding) - 1) for statement, values in asked]
        answers = self._receive()
        return [plan.rows(answers[place]) for plan, place in sent]

    def send(self, statement: str, values: Values, *, prepare: bool) -> None:
        """Send a statement that answers nothing without waiting; the next answer says how it went."""
        self._send(statement, values, prepare)
        self._server.flush()

    def settle(self) -> None:
        """Wait for what was sent; raise what the server says against it."""
        if self._outstanding:
            self._receive()

    def commit(self) -> None:
        """Commit right behind what was sent. If that failed the server skips the commit, and this raises why."""
        self._ask(b"COMMIT")
        self.plans_by_index = False
        self._receive()

    def _send(self, statement: str, values: Values, prepare: bool) -> _Plan:
        sql, names = _numbered(statement)
        given = [values[name] for name in names] if isinstance(values, Mapping) else values
        dumped = self._dumper.dump_sequence(given, [PyFormat.AUTO] * len(given))
        types, formats = self._dumper.types or (), self._dumper.formats
        plan = self._plan(sql, types)
        try:
            self._begin(prepare)
            if prepare and plan.name:
                self._prepare(plan)
                self._server.send_query_prepared(plan.name, dumped, formats)
            else:
                self._server.send_query_params(sql, dumped, types, formats)
            self._outstanding.append(None)
        except BaseException:
            self._abandon()
            raise
        return plan

    def _plan(self, sql: bytes, types: tuple[int, ...]) -> _Plan:
        found = self._plans.get((sql, types))
        if found is None:
            is_kept = len(self._plans) < MOST_PLANS
            found = _Plan(self._driver, sql, types, b"hot%d" % len(self._plans) if is_kept else b"")
            if is_kept:
                self._plans[sql, types] = found
        return found

    def _prepare(self, plan: _Plan) -> None:
        if not plan.is_prepared:
            self._server.send_prepare(plan.name, plan.sql, plan.types)
            self._outstanding.append(plan)
            plan.is_prepared = True

    def _begin(self, prepare: bool) -> None:
        """Enter pipeline mode, and a transaction where one is wanted and none is open; say how it plans and for whom it is."""
        is_first = not self._outstanding
        is_idle = is_first and self._server.transaction_status == TransactionStatus.IDLE
        if is_first:
            self._server.enter_pipeline_mode()
        if is_idle and not self._driver.autocommit:
            self._ask(b"BEGIN")
        settings = [] if self.plans_by_index and not is_idle else list(BY_INDEX)
        self.plans_by_index = not self._driver.autocommit
        if teller := teller_of(self._driver):
            settings += teller.change(wanted(), is_fresh=is_idle)
        if settings:  # in one transaction with what follows: without BEGIN all up to the next sync are one
            self._tell(settings, prepare)

    def _tell(self, settings: Sequence[Setting], prepare: bool) -> None:
        """Make settings for this transaction, by a statement that is planned once per connection."""
        plan = self._plan(_settings(len(settings)), (TEXT,) * 2 * len(settings))
        words = [word.encode() for setting in settings for word in setting]
        if prepare and plan.name:
            self._prepare(plan)
            self._server.send_query_prepared(plan.name, words)
        else:
            self._server.send_query_params(plan.sql, words, plan.types)
        self._outstanding.append(None)

    def _ask(self, command: bytes) -> None:
        self._server.send_query_params(command, None)
        self._outstanding.append(None)

    def _receive(self) -> list[PGresult]:
        """Read every outstanding answer and leave pipeline mode; raise the first that is an error."""
        asked, self._outstanding = self._outstanding, []
        try:
            with self._driver.lock:
                self._server.pipeline_sync()
                answers = self._driver.wait(self._answers(len(asked)))
            self._server.exit_pipeline_mode()
        except BaseException:
            self._abandon()
            raise
        refused = next((answer for answer in answers if answer.status == ExecStatus.FATAL_ERROR), None)
        if refused is None:
            return answers
        for plan, answer in zip(asked, answers, strict=True):
            if plan is not None:  # behind an error the server prepares nothing
                plan.is_prepared = answer.status == ExecStatus.COMMAND_OK
        raise error_from_result(refused, encoding="utf-8")

    def _answers(self, count: int) -> Generator[Any, Any, list[PGresult]]:
        yield from generators.send(self._server)
        answers: list[PGresult] = []
        for _ in range(count):
            found = yield from generators.fetch_many(self._server)
            if not found:
                raise psycopg.OperationalError("the connection is lost")
            answers.append(found[0])
        yield from generators.fetch_many(self._server)
        return answers

    def _abandon(self) -> None:
        """Close a connection of which nobody knows any more what it would answer next; the server rolls back."""
        self._outstanding = []
        self._server.finish()


def way_of(driver: psycopg.Connection[Any]) -> Hot:
    """Return the short way of a connection; it lives as long, from one user of a pool to the next."""
    held = vars(driver)
    found: Hot | None = held.get("_hot")
    if found is None:
        found = held["_hot"] = Hot(driver)
    return found
