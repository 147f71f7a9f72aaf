"""Refuse answers that could not be kept as business data."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace

from engine.transports.outcomes import CallResult, Failed, Json, Succeeded

LARGEST = 1_000_000
"""Bytes of an answer."""
DEEPEST = 64
SAFE_INTEGER = 2**53


def fit_to_keep(result: CallResult) -> CallResult:
    """Return the result, or the failure that its value is nothing JSON can hold everywhere."""
    if not isinstance(result, Succeeded | Failed):
        return Failed("transport", "bad_answer", "The transport returned something that is no outcome.")
    reason = why_unfit(result.value)
    if reason is None:
        # A copy, so that nothing the function still holds is business data.
        return replace(result, value=json.loads(json.dumps(result.value)))
    if isinstance(result, Failed):
        return Failed(result.error_class, result.code, result.message)
    return Failed("transport", "bad_answer", f"The answer {reason}.")


def why_unfit(value: Json) -> str | None:
    """Say why a value cannot be kept, or None."""
    for reason in _reasons(value, 0):
        return reason
    if len(json.dumps(value)) > LARGEST:
        return "is larger than 1 MB"
    return None


def _reasons(value: Json, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        yield f"is nested deeper than {DEEPEST}"
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _text_reasons(name) if isinstance(name, str) else ["has a key that is not text"]
            yield from _reasons(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _reasons(inner, depth + 1)
    else:
        yield from _leaf_reasons(value)


def _leaf_reasons(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield from _text_reasons(value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "holds a number that is not finite"
    elif isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > SAFE_INTEGER:
            yield "holds an integer beyond 2^53"
    elif value is not None and not isinstance(value, bool):
        yield f"holds a {type(value).__name__}, which is not JSON"


def _text_reasons(text: str) -> Iterator[str]:
    if "\0" in text:
        yield "holds a NUL character"
    elif any("\ud800" <= letter <= "\udfff" for letter in text):
        yield "holds half a surrogate pair"
