"""Do an act in one transaction, again when the database asks for that, and announce after the commit what it wrote.

Two transactions that wait for each other, or that could not have run one after the other, are nobody's fault: PostgreSQL rolls
one of them back. The code that opened the outermost transaction does the whole act again, a little later; an act inside another
transaction leaves that to it.

The rows of `wf_signals` are the queue (the outbox); a dispatcher only wakes a drain and may forget. It is reached by the name in
the settings, so that nothing here knows what is above.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import cache, partial, wraps
from importlib import import_module
from typing import ParamSpec, Protocol, TypeVar

import psycopg
import structlog
from django.db import Error, InterfaceError, OperationalError, connection, transaction

from engine.conf import conf
from engine.metrics import count_conflict
from workflowplatform.database.error_causes import is_servers_own

log = structlog.get_logger(__name__)

_fails_whole: ContextVar[bool] = ContextVar("fails_whole", default=False)

P = ParamSpec("P")
T = TypeVar("T")

MOST_TRIES = 5
FIRST_PAUSE = 0.02
"""Seconds; each pause is up to twice the one before."""

BY_CHANCE = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)
"""What goes away by itself when the same is done again."""


def is_by_chance(error: BaseException) -> bool:
    """Return whether the database ended a transaction only because of concurrent ones."""
    return isinstance(error.__cause__, BY_CHANCE)


def _lost_the_race(error: BaseException) -> bool:
    """Return whether another slice of the same instance was committed first."""
    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and cause.diag.constraint_name == "runtime_version"


def is_waited_out(error: BaseException) -> bool:
    """Return whether another transaction held a lock for too long."""
    return isinstance(error.__cause__, psycopg.errors.LockNotAvailable)


def is_server_unable(error: BaseException) -> bool:
    """Return whether the server can write nothing for now: read-only after a failover, out of room, about to stop."""
    return isinstance(error.__cause__, psycopg.Error) and is_servers_own(error.__cause__)


def is_database_away(error: BaseException) -> bool:
    """Return whether the database, and nobody's act, is to blame: it does not answer, the line is cut, or it cannot write."""
    return isinstance(error, OperationalError | InterfaceError) or is_server_unable(error)


def is_connection_lost() -> bool:
    """Return whether the server is gone, rather than one statement refused."""
    return connection.connection is None or bool(connection.connection.closed)


def in_one_transaction(act: Callable[P, T]) -> Callable[P, T]:
    """Make each call of a verb one transaction, done again after a deadlock or a serialization failure."""

    @wraps(act)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        return do_in_one_transaction(partial(act, *args, **kwargs))

    return done


def do_in_one_transaction(act: Callable[[], T]) -> T:
    """Run an act in one transaction; inside another it becomes part of that, with a savepoint if that may continue without it."""
    if connection.in_atomic_block:
        with transaction.atomic(savepoint=not _fails_whole.get()):
            return act()
    for number in range(1, MOST_TRIES):
        committed: list[bool] = []
        try:
            return _try(act, committed)
        except OperationalError as error:
            if committed or not is_by_chance(error):
                raise
            if _lost_the_race(error):
                count_conflict()
            log.info("the database ended a transaction, doing it again", error=_name(error), number=number)
            time.sleep(random.uniform(0, FIRST_PAUSE * 2**number))  # noqa: S311  spreads twins, keeps no secret
    return _try(act, [])


def do_whole(act: Callable[[], T]) -> T:
    """Run an act in one transaction that ends at the first refusal: its verbs need no savepoints, two round trips each.

    Code inside that does continue, as with many rows of which some are refused, opens an `atomic` of its own.
    """

    def fail_whole() -> T:
        before = _fails_whole.set(True)
        try:
            return act()
        finally:
            _fails_whole.reset(before)

    return do_in_one_transaction(fail_whole)


def _try(act: Callable[[], T], committed: list[bool]) -> T:
    """Run the act once, and note its commit: an error after the commit must not count as a failure of the act."""
    try:
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(True))
            return act()
    except Error as error:
        if is_server_unable(error):
            connection.close()  # nobody's act is to blame, and the next connection may find the server that took over
        raise


def _name(error: Error) -> str:
    return type(error.__cause__).__name__


# After the commit

TOLD = "workflow:told"
"""The channel on which open streams are told that the audit has grown."""


class Dispatcher(Protocol):
    """What the outbox asks of a dispatcher."""

    def wake(self) -> None:
        """Make a drain look at the queue soon. Never raises: a lost wake-up costs seconds, not work."""

    def wake_in(self, seconds: float) -> None:
        """Make sure that a drain looks at the queue after that long."""

    def wake_streams(self) -> None:
        """Make open streams look at the audit soon. Never raises: they look by themselves every second."""


@cache
def dispatcher(name: str) -> Dispatcher:
    """Return the dispatcher of that name: `engine.dispatch.<name>.dispatcher`."""
    found: Dispatcher = import_module(f"engine.dispatch.{name}").dispatcher
    return found


def announce_on_commit(dues: Sequence[datetime], now: datetime) -> None:
    """After the commit, wake a drain for the signals just written: at once, or when the first falls due."""
    if dues:
        ahead = (min(dues) - now).total_seconds()
        transaction.on_commit(lambda: _announce(ahead))


def wake_streams_on_commit() -> None:
    """After the commit, tell open streams that something was written to the audit."""
    transaction.on_commit(_wake_streams)


def _wake_streams() -> None:
    dispatcher(conf.dispatcher).wake_streams()


def _announce(ahead: float) -> None:
    chosen = dispatcher(conf.dispatcher)
    if ahead <= 0:
        chosen.wake()
    else:
        chosen.wake_in(ahead)
