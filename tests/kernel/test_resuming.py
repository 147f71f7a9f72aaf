"""Waits resumed from bytes in a fresh process, and happenings that come twice, late or in another order."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.effects import Wait, WaitKind
from engine.kernel.forms import check_values
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.signals import InstanceFacts, Lent
from engine.kernel.snapshot import Snapshot
from tests.kernel.play import MONDAY, Case
from tests.kernel.test_cases import SOURCES, gallery
from tests.kernel.test_properties import TERMINAL, happening_for


def _start_that_waits(name: str) -> Any:
    """Find among a workflow's stored tests a start, defaults filled in, after which it waits for something."""
    definition = gallery()[name]
    for test in definition.canonical.get("tests", ()):
        filled, problems = check_values(definition.input_schema, test.get("start", {}))
        if not problems and Case(definition, filled, number="instance-0001").waits:
            return filled
    return {}


STARTS = {path.stem: _start_that_waits(path.stem) for path in SOURCES}

RESUME = """
import json, sys
from tests.kernel.test_resuming import resume
json.dump([resume(**told) for told in json.load(sys.stdin)], sys.stdout)
"""


def resume(name: str, stored: Any, token: int, wait: Any) -> Any:
    """Answer one wait of a stored case and give the snapshot after it."""
    definition = gallery()[name]
    snapshot = Snapshot.from_json(stored)
    facts = InstanceFacts("instance-0001", definition.name, 1, "ann", MONDAY)
    found = advance(definition, snapshot, facts, [_happening(token, wait)], Lent(MONDAY))
    return found.snapshot.to_json()


def _happening(token: int, wait: Any) -> Any:
    kind, name = wait
    return happening_for(Wait(token, WaitKind(kind), "", "", name=name), 2)


def test_every_first_wait_of_the_gallery_is_resumed_from_bytes_in_a_fresh_process() -> None:
    told, expected = [], []
    for name in sorted(STARTS):
        case = Case(gallery()[name], STARTS[name], number="instance-0001")
        assert case.waits, "every workflow of the gallery waits for something"
        assert case.snapshot is not None
        for token, wait in sorted(case.waits.items()):
            facts = {"token": token, "wait": [wait.kind.value, wait.name]}
            told.append({"name": name, "stored": case.snapshot.to_json(), **facts})
            expected.append(json.loads(json.dumps(resume(**told[-1]))))
    found = subprocess.run(
        [sys.executable, "-c", RESUME], input=json.dumps(told), capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert len(told) > len(STARTS)
    assert json.loads(found.stdout) == expected


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.sampled_from(sorted(STARTS)), st.lists(st.integers(0, 999), max_size=30))
def test_gallery_under_duplicated_and_stale_happenings_ends_clean(name: str, choices: list[int]) -> None:
    once, often = (Case(gallery()[name], STARTS[name], number="instance-0001") for _ in range(2))
    stale: list[Any] = []
    for choice in choices:
        waits = [wait for _, wait in sorted(once.waits.items()) if wait.kind is not WaitKind.CHILD]
        if not waits or once.status in TERMINAL:
            break
        happening = happening_for(waits[choice % len(waits)], choice)
        once.send(happening)
        for late in stale[-3:]:
            often.send(late)
        often.send(happening)
        if hasattr(happening, "token"):
            often.send(happening)
            stale.append(happening)
    assert once.last.snapshot.to_json() == often.last.snapshot.to_json()
    assert once.status == often.status
    if once.status in TERMINAL:
        assert (once.waits, once.last.snapshot.frames) == ({}, [])


FAN = """
steps:
  - parallel:
      branches:
        a: [{id: ta, task: {title: A}}, {set: {a: 1}}]
        b: [{id: cb, call: {python: b}}, {set: {b: 2}}]
        c: [{id: wc, wait: {for: PT1H}}, {set: {c: 3}}]
        d: [{id: sd, signal: go}, {set: {d: 4}}]
  - {id: last, call: {python: last}}
"""


@settings(max_examples=24, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.permutations(["ta", "cb", "wc", "sd"]))
def test_where_order_does_not_decide_every_order_ends_the_same(order: list[str]) -> None:
    case = Case(FAN)
    for step in order:
        case.send(happening_for(case.wait_of(step), 1))
    case.answer("last", 1)
    assert (case.status, case.state) == ("completed", {"a": 1, "b": 2, "c": 3, "d": 4})
    assert sorted(run.step for run in case.trace if run.status == "success" and run.step in order) == sorted(order)
