"""Refuse answers that could not be kept as business data."""

import json
from dataclasses import replace

from engine.kernel.forms import refuse_unsafe_json
from engine.transports.outcomes import CallResult, Failed, Json, Succeeded

LARGEST = 1_000_000
"""Bytes of an answer."""


def fit_to_keep(result: CallResult) -> CallResult:
    """Return the result with a copy of its value, or the failure that the value is nothing the platform can keep."""
    if not isinstance(result, Succeeded | Failed):
        return Failed("transport", "bad_answer", "The transport returned no outcome.")
    reason = why_unfit(result.value)
    if reason is None:
        # A copy, so that nothing the function still holds is business data.
        return replace(result, value=json.loads(json.dumps(result.value)))
    if isinstance(result, Failed):
        return replace(result, value=None)
    return Failed("transport", "bad_answer", f"The answer cannot be stored: {reason}.")


def why_unfit(value: Json) -> str | None:
    """Return why a value cannot be stored, or None."""
    for error in refuse_unsafe_json(value):
        return f"{error.code} at {error.path or 'its root'}"
    if len(json.dumps(value)) > LARGEST:
        return "it is larger than 1 MB"
    return None
