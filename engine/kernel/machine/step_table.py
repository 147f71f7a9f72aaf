"""The table of step kinds: each is two small functions and a few facts.

`start` begins the body of a step; `told` is called when a list or step of its body ended, `answered` with what happened
to its wait. The modules in steps/ fill the table; the loop knows nothing but it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame

if TYPE_CHECKING:
    from engine.kernel.machine.machine import Machine
    from engine.kernel.machine.messages import Ended

Start = Callable[["Machine", Frame, Step], None]
Told = Callable[["Machine", Frame, Step, "Ended"], None]
Answered = Callable[["Machine", Frame, Frame, Any], bool | None]
ValueOf = Callable[["Machine", Frame, Step], Json]


def _own_name(step: Step) -> str:
    return step.id


@dataclass(frozen=True, slots=True)
class Kind:
    """What a step kind is."""

    start: Start
    told: Told | None = None
    answered: Answered | None = None
    expired: ValueOf | None = None
    """What its result is when its time ran out."""
    so_far: ValueOf | None = None
    """What its result is when it is ended early."""
    has_result: bool = True
    result_name: Callable[[Step], str] = _own_name


KINDS: dict[str, Kind] = {}
