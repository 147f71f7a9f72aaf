"""Check a step's times for contradictions."""

from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.timing.periods import parse_period

AN_ATTEMPT = "PT30S"
"""The default time of one attempt of a call."""


def check_timing(reading: Reading) -> None:
    """Warn where a time of a step can never matter."""
    for step in reading.steps.values():
        if step.kind == "call":
            _check_attempts(reading, step)
        throttle = step.spec.get("throttle")
        if isinstance(throttle, dict) and "per" in throttle:
            text = "`per` has no effect on `throttle`, which limits how many run at once"
            reading.warn(step.node, "throttle_per", text, f"{step.path}/throttle", "rate_limit: {key, limit, per}")


def _check_attempts(reading: Reading, step: Outline) -> None:
    """Compare the time of one attempt with the time of the whole step."""
    whole = _seconds(step.spec.get("timeout"))
    attempt = _seconds(step.spec.get("attempt_timeout", AN_ATTEMPT))
    if whole is None or attempt is None:
        return
    if "attempt_timeout" in step.spec and attempt > whole:
        text = "one attempt may not take longer than the whole step: `attempt_timeout` is longer than `timeout`"
        reading.warn(step.node, "attempt_outlasts", text, step.path)
    elif attempt < whole and (step.spec.get("retry") or {}).get("attempts", 1) == 1:
        text = "`timeout` never acts: the only attempt ends before it, and there is no `retry`"
        reading.warn(step.node, "timeout_never", text, step.path, f"attempt_timeout: {step.spec['timeout']}")


def _seconds(written: object) -> float | None:
    """Read a literal duration; a computed one is not known yet."""
    try:
        return parse_period(written).length.total_seconds() if isinstance(written, str) else None
    except ValueError:
        return None
