"""Functions that fail on purpose, registered for tests by WORKFLOW_FUNCTIONS."""

import os
import time
from pathlib import Path
from typing import Any

from engine.functions import BusinessError, workflow_function


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
    """Say no, as a business rule does."""
    raise BusinessError("too_late", "The offer has ended.")


@workflow_function("test_slow")
def slow(seconds: float = 1.0, **values: Any) -> dict[str, Any]:
    """Take a while, and leave a mark for each time it was made."""
    _count("slow")
    time.sleep(seconds)
    return {"slept": seconds}


def counter(name: str) -> Path:
    """Return the file in which calls of that name are counted, one byte each."""
    return Path(os.environ["WORKFLOW_DATA"]) / f"count-{name}-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def _count(name: str) -> int:
    path = counter(name)
    with path.open("ab") as file:
        file.write(b".")
    return path.stat().st_size
