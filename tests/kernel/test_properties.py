"""What holds for every workflow, in every order of events."""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.definition import compile_definition
from engine.kernel.effects import Slice, Wait, WaitKind
from engine.kernel.json_text import read_json, write_json
from engine.kernel.language.normalizer import normalize
from engine.kernel.program import Definition
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    CancelCase,
    Event,
    NamedSignal,
    RetryDue,
    TaskCompleted,
    TimerDue,
)
from engine.kernel.simulator.player import Play
from tests.kernel.growing import workflows
from tests.kernel.play import Case

EXAMPLES = int(os.environ.get("KERNEL_EXAMPLES", "400" if os.environ.get("WORKFLOW_TEST_ALL") else "40"))
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
CHOICES = st.lists(st.integers(0, 1_000), min_size=0, max_size=25)
GALLERY = Path(__file__).parents[2] / "engine" / "gallery"
TERMINAL = {"completed", "failed", "cancelled", "expired"}


def grown(workflow: dict[str, Any]) -> Definition:
    """Compile a grown workflow."""
    found = normalize(json.dumps(workflow), allow_not_yet=True)
    errors = [finding for finding in found.findings if finding.severity == "error"]
    assert found.canonical is not None, errors
    return compile_definition(found.canonical)


def event_for(wait: Wait, choice: int) -> Event:
    """Make up what could happen to a wait."""
    if wait.kind is WaitKind.TASK:
        return TaskCompleted(wait.token, "yes" if choice % 2 else "no", "bob", {})
    if wait.kind is WaitKind.CALL:
        return CallFailed(wait.token, "business", "no", "no") if choice % 5 == 0 else CallSucceeded(wait.token, choice)
    if wait.kind is WaitKind.TIMER:
        return TimerDue(wait.token)
    return RetryDue(wait.token) if wait.kind is WaitKind.RETRY else NamedSignal(str(wait.name), None, choice)


def next_event(case: Case, choice: int) -> Event | None:
    """Choose among all open waits."""
    waits = [wait for _, wait in sorted(case.waits.items())]
    return event_for(waits[choice % len(waits)], choice // 7) if waits else None


def play(case: Case, choices: list[int]) -> None:
    """Let events come until the choices are used up."""
    for choice in choices:
        event = next_event(case, choice)
        if event is None or case.status in TERMINAL:
            return
        case.send(event)


def shown(found: Slice) -> Any:
    """Return everything that a slice says, as JSON."""
    return json.loads(json.dumps([found.snapshot.to_json(), [str(one) for one in found.trace], str(found.opened)]))


@QUICK
@given(workflows(), CHOICES)
def test_stored_at_each_wait_equals_kept_in_memory(workflow: dict[str, Any], choices: list[int]) -> None:
    definition = grown(workflow)
    cases = [Case(definition, stored=stored) for stored in (True, False)]
    for case in cases:
        play(case, choices)
    assert [shown(one) for one in cases[0].slices] == [shown(one) for one in cases[1].slices]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@QUICK
@given(JSON_VALUES)
def test_json_text_is_what_the_standard_library_reads_and_writes(value: Any) -> None:
    assert json.loads(write_json(value)) == value
    assert read_json(json.dumps(value)) == value
    assert read_json(write_json(value)) == value


@QUICK
@given(workflows(), CHOICES)
def test_any_event_twice_is_once(workflow: dict[str, Any], choices: list[int]) -> None:
    case = Case(grown(workflow))
    for choice in choices:
        event = next_event(case, choice)
        if event is None:
            return
        case.send(event)
        if isinstance(event, NamedSignal):
            continue
        before = case.last.snapshot.to_json()
        again = case.send(event)
        assert again.applied == (False,)
        assert again.snapshot.to_json() == before
        assert [*again.trace, *again.opened, *again.closed, *again.effects] == []


@QUICK
@given(workflows(), CHOICES)
def test_terminal_is_clean_and_a_running_case_has_a_wait(workflow: dict[str, Any], choices: list[int]) -> None:
    case = Case(grown(workflow))
    play(case, choices)
    snapshot = case.last.snapshot
    if case.status in TERMINAL:
        assert (snapshot.frames, snapshot.waits, snapshot.mutexes, snapshot.early) == ([], [], {}, [])
        assert case.waits == {}
    elif case.status == "running":
        assert any(not wait.side for wait in case.waits.values())
    else:
        assert case.last.error is not None or any(one.error is not None for one in case.slices)


@QUICK
@given(workflows(), CHOICES)
def test_every_case_can_be_cancelled_clean(workflow: dict[str, Any], choices: list[int]) -> None:
    case = Case(grown(workflow))
    play(case, choices)
    if case.status not in TERMINAL:
        case.send(CancelCase("enough"))
        assert (case.status, case.waits, case.last.snapshot.frames) == ("cancelled", {}, [])


@QUICK
@given(workflows(), CHOICES)
def test_slices_that_stop_early_end_in_the_same_place(workflow: dict[str, Any], choices: list[int]) -> None:
    from engine.kernel.signals import Continue

    definition = grown(workflow)
    whole, cut = Case(definition), Case(definition)
    for choice in choices:
        event = next_event(whole, choice)
        if event is None or whole.status in TERMINAL:
            break
        whole.send(event)
        cut.send(event, max_steps=1)
        while cut.last.more:
            cut.send(Continue(), max_steps=1)
    assert _place(whole) == _place(cut)


def _place(case: Case) -> Any:
    stored = case.last.snapshot.to_json()
    return {key: stored[key] for key in stored if key != "now"}


@QUICK
@given(workflows())
def test_canonical_written_out_and_read_again_keeps_its_hash(workflow: dict[str, Any]) -> None:
    first = normalize(json.dumps(workflow), allow_not_yet=True)
    again = normalize(json.dumps(first.canonical), allow_not_yet=True)
    assert first.sha256 == again.sha256


REPLAY = """
from tests.kernel.test_properties import replayed
print(replayed())
"""


def replayed() -> str:
    """Play fixed cases again, a grown one and every workflow of the gallery, and hash everything they said."""
    source = json.loads((Path(__file__).parent / "replay.json").read_text())
    case = Case(grown(source["workflow"]))
    play(case, source["choices"])
    told = [[shown(one) for one in case.slices], *(_played(definition) for definition in _gallery().values())]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _played(definition: Definition) -> Any:
    found = Play(_gallery(), definition.name, definition.canonical["tests"][0])
    found.run()
    return [
        [one.facts.id, one.snapshot.to_json(), [str(run) for run in one.trace]]
        for one in found.world.instances
        if one.snapshot is not None
    ]


@cache
def _gallery() -> dict[str, Definition]:
    sources = [path.read_text() for path in sorted(GALLERY.glob("*.yaml"))]
    found = [normalize(source, allow_not_yet=True).canonical for source in sources]
    return {one["workflow"]: compile_definition(one) for one in found if one is not None}


def test_replay_gives_the_same_hash_under_any_hash_seed_and_zone() -> None:
    hashes = {replayed()}
    for seed, zone in (("1", "Asia/Tokyo"), ("4242", "America/St_Johns")):
        found = subprocess.run(
            [sys.executable, "-c", REPLAY],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        hashes.add(found.stdout.strip())
    assert len(_gallery()) >= 20
    assert len(hashes) == 1
