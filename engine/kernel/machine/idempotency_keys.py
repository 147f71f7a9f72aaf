"""Make the keys under which the outside hears of effects: one per occurrence, the same for every attempt.

A key is the instance, the step's path and the occurrence: every round, item, run of a net and number of a handler around
the step, as people see them, and marks that only keys show: `+n` for what was taken back and is offered again, `~n`
for what an operator edited, `^n` for the undoing of run n. Attempts are no occurrences: what runs again because it, or
something around it, is tried again, keeps its key, so that a receiver that deduplicates does it once.
"""

import hashlib

from engine.kernel.machine.machine import Machine
from engine.kernel.snapshot import Frame

LONGEST = 300


def key_at(machine: Machine, frame: Frame, path: str) -> str:
    """Return the key of an effect at a path, in a frame."""
    return bounded(f"{machine.facts.id}:{path}{occurrence(machine, frame)}")


def bounded(key: str) -> str:
    """Keep a key within what is stored; of a longer one the digest tells it from others."""
    return key if len(key) <= LONGEST else f"{key[: LONGEST - 65]}~{hashlib.sha256(key.encode()).hexdigest()}"


def occurrence(machine: Machine, frame: Frame) -> str:
    """Write which occurrence of its step a frame is."""
    return "".join(reversed([_mark(found) for found in machine.upward(frame)]))


def _mark(frame: Frame) -> str:
    place = frame.sign if frame.sign is not None else frame.pos or ""
    edit = frame.edit or (frame.more or {}).get("edited", {}).get("attempt")
    return f"{place}{f'+{frame.again}' if frame.again else ''}{f'~{edit}' if edit else ''}"


def number(machine: Machine, what: str) -> int:
    """Return the number of an occurrence of something, from 0; none is used twice, whatever is tried again."""
    found = machine.occurrences.get(what, 0)
    machine.occurrences[what] = found + 1
    return found


def carry_position(machine: Machine, frame: Frame, scope: Frame) -> None:
    """Keep in a frame that moves under a scope further out where it was."""
    shown, sign = machine.iteration(frame), occurrence(machine, frame)
    frame.pos = shown[len(machine.iteration(scope)) :] or None
    frame.sign = sign[len(occurrence(machine, scope)) :]
    frame.again = frame.edit = 0
