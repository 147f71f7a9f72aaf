"""Functions that fail on purpose, registered for tests by WORKFLOW_FUNCTIONS."""

import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

from django.db import transaction

from engine.extensions.functions import BusinessError, workflow_function


@workflow_function("test_flaky")
def flaky(**values: Any) -> dict[str, Any]:
    """Fail twice, then answer; count in a file so that every process sees the same count."""
    count = _count("flaky")
    if count < 3:
        raise ConnectionError("not yet")
    return {"attempt": count}


@workflow_function("test_broken")
def broken(**values: Any) -> None:
    """Never answer."""
    raise ConnectionError("never")


@workflow_function("test_refuse")
def refuse(**values: Any) -> None:
    """Refuse, as a business rule does."""
    raise BusinessError("too_late", "The offer has ended.")


@workflow_function("test_picky")
def picky(*, word: str) -> dict[str, Any]:
    """Answer one word only."""
    if word != "right":
        raise ValueError(word)
    return {"word": word}


@workflow_function("test_deadly")
def deadly(**values: Any) -> None:
    """Take the worker along, as running out of memory would."""
    os.kill(os.getpid(), signal.SIGKILL)


@workflow_function("test_leave")
@workflow_function("test_leave_inside", transactional=True)
def leave(**values: Any) -> None:
    """End the worker's process without a signal."""
    _count("leave")
    os._exit(1)


@workflow_function("test_kill_inside", transactional=True)
def kill(**values: Any) -> None:
    """End the worker's process by the system's hand, within a slice."""
    _count("kill")
    os.kill(os.getpid(), signal.SIGKILL)


@workflow_function("test_eat")
@workflow_function("test_eat_inside", transactional=True)
def eat(**values: Any) -> None:
    """Take more and more memory, touched so that it counts; the machine is spared where nobody stops it."""
    _count("eat")
    eaten: list[bytearray] = []
    while len(eaten) < 120:
        eaten.append(bytearray(16 * 1024**2))
        time.sleep(0.01)
    time.sleep(30)  # sleep: until the supervisor ends what took too much


@workflow_function("test_spin")
@workflow_function("test_spin_inside", transactional=True)
def spin(**values: Any) -> None:
    """Never end, and let no other thread have its whole turn; not for ever where nobody stops it."""
    _count("spin")
    until = time.monotonic() + 300
    while time.monotonic() < until:
        pass


@workflow_function("test_slow")
def slow(seconds: float = 1.0, **values: Any) -> dict[str, Any]:
    """Take a while, and leave a mark for each time it was made."""
    _count("slow")
    time.sleep(seconds)  # sleep: what it is for
    return {"slept": seconds}


@workflow_function("test_write", transactional=True)
def write(*, name: str, refuse: bool = False, reach: bool = False, then: str = "") -> dict[str, Any]:
    """Write a row of the host project together with the step: here a role. Then refuse, or do what is forbidden."""
    from workflowplatform.accounts.models import Role, Tenant

    role = Role.objects.create(tenant=Tenant.objects.get(name="acme"), name=name)
    if refuse:
        raise BusinessError("no_stock", "There is nothing left in stock.")
    if reach:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    if then == "sleep":
        with transaction.get_connection().cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', '50', true)")
            cursor.execute("SELECT pg_sleep(600)")
    if then:
        raise RuntimeError(then)
    return {"role": role.name, "alone": transaction.get_connection().in_atomic_block}


def counter(name: str) -> Path:
    """Return the file in which calls of that name are counted, one byte each."""
    return Path(os.environ["WORKFLOW_DATA"]) / f"count-{name}-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def _count(name: str) -> int:
    path = counter(name)
    with path.open("ab") as file:
        file.write(b".")
    return path.stat().st_size
