"""Functions that measured workflows call."""

from collections import Counter

from engine.extensions.functions import workflow_function

_asked: Counter[str] = Counter()


@workflow_function("bench_third_time")
def third_time(*, case: str) -> dict[str, int]:
    """Fail twice for each case, then answer."""
    _asked[case] += 1
    if _asked[case] < 3:
        raise ConnectionError("not yet")
    return {"attempt": _asked.pop(case)}
