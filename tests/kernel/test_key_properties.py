"""No two effects share a key, and one effect keeps its key: over random templates and random orders of events.

What is one effect is decided here without keys: by which frame opened which. Every frame is recorded with its parent
and the parent's attempt. Two calls of one step are the same effect when it is the same run, or when what is
around both was tried again in between.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.effects import MakeCallLater, NotifyPeople
from engine.kernel.machine.frame_tree import Tree
from engine.kernel.machine.machine import Machine
from engine.kernel.program import Definition
from engine.kernel.signals import CallFailed, Continue, Event, StepRetried, TaskClaimed, TaskReleased
from engine.kernel.snapshot import Frame
from tests.kernel.growing import calling_workflows
from tests.kernel.play import Case
from tests.kernel.test_properties import TERMINAL, grown, next_event

TEMPLATES = int(os.environ.get("KERNEL_TEMPLATES", "2500" if os.environ.get("WORKFLOW_TEST_ALL") else "150"))
CHOICES = st.lists(st.integers(0, 5_000), min_size=12, max_size=60)
WALK = settings(max_examples=TEMPLATES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
EDITED = re.compile(r"~\d+")


class Lineage:
    """The parent of each frame, and in which attempt of the parent the frame was opened."""

    def __init__(self) -> None:
        self.births: dict[int, tuple[int, int]] = {}

    def record(self, machine: Machine, frame: Frame) -> None:
        """Keep the parent of a frame."""
        above = machine.frames.get(frame.p)
        self.births.setdefault(frame.n, (frame.p, above.attempt if above is not None else 0))

    def chain(self, number: int) -> list[tuple[int, int]]:
        """List the frames above one, the root first, each with the attempt in which the next was opened."""
        found = []
        while number:
            number, attempt = self.births[number]
            found.append((number, attempt))
        return found[::-1]

    def tried_again(self, one: int, other: int) -> bool:
        """Return whether two runs were opened in different attempts of something around both."""
        pairs = zip(self.chain(one), self.chain(other), strict=False)
        return any(left[0] == right[0] and left[1] != right[1] for left, right in pairs)


@contextmanager
def recorded() -> Iterator[Lineage]:
    """Record every frame that is opened."""
    lineage, new = Lineage(), Tree.new

    def record(machine: Machine, parent: int) -> Frame:
        frame = new(machine, parent)
        lineage.record(machine, frame)
        return frame

    Machine.new = record  # type: ignore[method-assign]
    try:
        yield lineage
    finally:
        del Machine.new


def chosen(case: Case, choice: int) -> Event | None:
    """Choose what happens next; people also claim and give back, operators also retry, with other input or without."""
    if case.status == "incident" and choice % 2:
        return StepRetried(input={"args": {"n": choice}} if choice % 3 == 0 else None)
    tasks = [wait.token for wait in case.waits.values() if wait.task is not None]
    if tasks and choice % 11 == 0:
        return TaskClaimed(tasks[0], "bob")
    if tasks and choice % 11 == 1:
        return TaskReleased(tasks[0])
    calls = [wait.token for wait in case.waits.values() if wait.call is not None]
    if calls and choice % 5 == 0:
        return CallFailed(calls[choice % len(calls)], "transport", "http_503", "not now")
    return next_event(case, choice)


def sent(case: Case) -> Iterator[tuple[int, str, int, str]]:
    """Yield every call and e-mail that a case asked for: token (0 where nobody waits), step, run, key."""
    for one in case.slices:
        yield from ((wait.token, wait.step, wait.run, wait.call.key) for wait in one.opened if wait.call is not None)
        for effect in one.effects:
            if isinstance(effect, MakeCallLater):
                yield 0, effect.step, effect.run, effect.call.key
            elif isinstance(effect, NotifyPeople):
                yield 0, effect.step, effect.token, effect.key


def walk(definition: Definition, choices: list[int]) -> tuple[Case, Case]:
    """Play a case whole and stored, and next to it the same case cut after every step."""
    whole, cut = Case(definition), Case(definition)
    for choice in choices:
        event = chosen(whole, choice)
        if event is None or whole.status in TERMINAL:
            break
        whole.send(event)
        cut.send(event, max_steps=1)
        while cut.last.more:
            cut.send(Continue(), max_steps=1)
    return whole, cut


def check_apart(case: Case, lineage: Lineage) -> int:
    """See that no two effects share a key; answer how many there were."""
    found: dict[str, list[tuple[str, int, bool]]] = {}
    for token, step, run, key in sent(case):
        for other_step, other_run, awaited in found.setdefault(key, []):
            again = run == other_run and bool(token) and awaited
            assert step == other_step, f"{step} and {other_step} share {key}"
            assert again or lineage.tried_again(run, other_run), f"runs {other_run} and {run} of {step} share {key}"
        found[key].append((step, run, bool(token)))
    return len(found)


def check_kept(whole: Case, cut: Case) -> int:
    """See that a call has one key over its attempts and however its slices are cut; answer how many were tried again."""
    by_run: dict[int, list[str]] = {}
    for token, _, run, key in sent(whole):
        if token:
            by_run.setdefault(run, []).append(EDITED.sub("", key))
    for run, keys in by_run.items():
        assert len(set(keys)) == 1, f"run {run} was sent as {keys}"
    in_pieces = {token: key for token, _, _, key in sent(cut) if token}
    assert {token: key for token, _, _, key in sent(whole) if token}.items() <= in_pieces.items()
    return sum(len(keys) > 1 for keys in by_run.values())


def test_no_two_effects_share_a_key_and_one_effect_keeps_its_own() -> None:
    count: Counter[str] = Counter()

    @WALK
    @given(calling_workflows(), CHOICES)
    def grow(workflow: dict[str, Any], choices: list[int]) -> None:
        with recorded() as lineage:
            whole, cut = walk(grown(workflow), choices)
        count["effects"] += check_apart(whole, lineage)
        count["again"] += check_kept(whole, cut)
        count["templates"] += 1

    grow()
    sys.stdout.write(f"played {dict(count)}\n")
    assert count["templates"] >= TEMPLATES
    assert count["effects"] > count["templates"]
    assert count["again"] > 0
