"""Waits resumed from bytes in a fresh process, and happenings that come twice, late or in another order."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.definition import compile_definition
from engine.kernel.effects import WaitKind
from engine.kernel.forms import check_values
from engine.kernel.normalizer import normalize
from tests.kernel.play import Case
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
told = json.load(sys.stdin)
json.dump(resume(told["name"], told["snapshot"], told["token"]), sys.stdout)
"""


def resume(name: str, stored: Any, token: int) -> Any:
    """Answer one wait of a stored case and give the snapshot after it."""
    from engine.kernel.snapshot import Snapshot

    source = next(path for path in SOURCES if path.stem == name).read_text()
    found = normalize(source, allow_not_yet=True)
    assert found.canonical is not None
    case = Case(compile_definition(found.canonical), STARTS[name], number="instance-0001")
    wait = case.waits[token]
    case.snapshot = Snapshot.from_json(stored)
    return case.send(happening_for(wait, 2)).snapshot.to_json()


SHORT_FORM = frozenset({"leave-request", "quorum-of-five", "first-of-three", "human-pipeline"})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in SHORT_FORM else [pytest.mark.slow]) for name in sorted(STARTS)]
)
def test_wait_is_resumed_from_bytes_in_a_fresh_process(name: str) -> None:
    case = Case(gallery()[name], STARTS[name], number="instance-0001")
    assert case.waits, "every workflow of the gallery waits for something"
    token, wait = min(case.waits.items())
    assert case.snapshot is not None
    told = json.dumps({"name": name, "snapshot": case.snapshot.to_json(), "token": token})
    found = subprocess.run(
        [sys.executable, "-c", RESUME], input=told, capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert json.loads(found.stdout) == json.loads(json.dumps(case.send(happening_for(wait, 2)).snapshot.to_json()))


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
