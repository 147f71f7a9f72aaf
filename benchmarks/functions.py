"""Functions that measured workflows call."""

import os
from pathlib import Path

from engine.extensions.functions import workflow_function


@workflow_function("bench_third_time")
def third_time(*, case: str) -> dict[str, int]:
    """Fail twice for each case, then answer, whichever processes are asked."""
    asked = Path(os.environ["WORKFLOW_DATA"]) / "asked"
    asked.mkdir(exist_ok=True)
    for attempt in (1, 2):
        try:
            (asked / f"{case}.{attempt}").touch(exist_ok=False)
        except FileExistsError:
            continue
        raise ConnectionError("not yet")
    return {"attempt": 3}
