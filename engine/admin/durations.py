"""Periods in words: read `90 days` as `P90D`, and back."""

import re

from engine.kernel.timing.periods import is_period

UNITS = {"Y": "year", "M": "month", "W": "week", "D": "day"}
EXAMPLES = "90 days, 12 months or 7 years"
_PART = re.compile(r"(\d{1,6})\s*(y|years?|months?|w|weeks?|d|days?)", re.ASCII)
_WHOLE = re.compile(rf"{_PART.pattern}(?:(?:\s*,\s*|\s+and\s+|\s+){_PART.pattern})*", re.ASCII)
_WRITTEN = re.compile(r"P(?=\d)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?", re.ASCII)


def read_window(text: str) -> str:
    """Read a period as an ISO duration; raise ValueError with a sentence if it is none."""
    said = " ".join(text.split())
    if not said or is_period(said.upper()):
        return said.upper()
    if not _WHOLE.fullmatch(said.lower()):
        unit = f" Did you mean {said} days, months or years?" if said.isdigit() else ""
        raise ValueError(f"“{said}” is not a period.{unit or f' Enter it as {EXAMPLES}.'}")
    counts = dict.fromkeys(UNITS, 0)
    for count, unit in _PART.findall(said.lower()):
        counts[unit[0].upper()] += int(count)
    return "P" + "".join(f"{count}{unit}" for unit, count in counts.items() if count) if any(counts.values()) else "P0D"


def window_words(window: str) -> str:
    """Write an ISO duration in words; one with hours or fractions stays as it is."""
    match = _WRITTEN.fullmatch(window)
    if match is None:
        return window
    said = [_counted(int(count), unit) for count, unit in zip(match.groups(), UNITS.values(), strict=True) if count]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _counted(count: int, unit: str) -> str:
    return f"1 {unit}" if count == 1 else f"{count} {unit}s"
