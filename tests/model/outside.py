"""The world that templates call: it answers as the test pleases, and every process writes down who asked."""

import os
from collections import Counter
from enum import StrEnum
from pathlib import Path

from engine.extensions.functions import BusinessError, workflow_function


class Mood(StrEnum):
    """How the outside answers until told otherwise; a forked worker inherits it."""

    WELL = "well"
    DOWN = "down"
    """Nobody answers: a transport error, which is retried."""
    REFUSING = "refusing"
    """A business error, which is not."""


_mood = Mood.WELL


def set_mood(mood: Mood) -> None:
    """Make the outside answer like this from now on."""
    global _mood
    _mood = mood


def _diary() -> Path:
    return Path(os.environ["WORKFLOW_DATA"]) / f"asked-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def forget() -> None:
    """Begin a new page."""
    _diary().write_text("")
    set_mood(Mood.WELL)


def asked() -> Counter[tuple[str, str]]:
    """Count who asked, by instance and step."""
    lines = _diary().read_text().splitlines()
    return Counter((instance, step) for instance, step in (line.split() for line in lines))


@workflow_function("model_outside")
def answer(*, instance: str, step: str) -> dict[str, str]:
    """Note the call, then answer by the mood."""
    with _diary().open("a") as diary:
        diary.write(f"{instance} {step}\n")
    if _mood is Mood.DOWN:
        raise ConnectionError("nobody answers")
    if _mood is Mood.REFUSING:
        raise BusinessError("refused", "The outside says no.")
    return {"step": step}
