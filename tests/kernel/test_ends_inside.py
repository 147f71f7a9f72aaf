"""A step that ends the scope around it, while its siblings are only being opened: nothing is left, nothing raises."""

from itertools import product

import pytest

from engine.kernel.steps import nets
from tests.kernel.play import Case
from tests.kernel.test_properties import TERMINAL

ENDS = ("complete: DONE", "cancel: case", "exit: outer", "complete: {step: outer}", "fail: {code: no}")
JOINED = [f"join: {join}, rest: {rest}" for join, rest in product(("all", "any", "none", 2), ("cancel", "let_run"))]
BODIES = (
    *(f"for_each: {{each: [0, 1, 2], limit: 2, {how}, steps: [{{END}}, {{set: {{n: 1}}}}]}}" for how in JOINED),
    *(
        f"parallel: {{branches: {{a: [{{END}}], b: [{{task: {{title: B}}}}], c: [{{set: {{n: 1}}}}]}}, {how}}}"
        for how in JOINED
    ),
    "graph: [{END}, {set: {n: 1}}, {task: {title: T}}]",
    "any_order: [{END}, {task: {title: T}}]",
    "net: {leftover: drop, steps: [{id: x, END, next: [y, z]}, {id: y, set: {n: 1}}, {id: z, task: {title: Z}}]}",
)


@pytest.mark.parametrize("end", ENDS)
def test_end_from_inside_leaves_nothing_behind(end: str) -> None:
    for body in BODIES:
        inside = body.replace("END", end)
        case = Case(f"steps: [{{id: outer, group: [{{{inside}}}]}}, {{id: last, task: {{title: L}}}}]")
        if case.status in TERMINAL:
            assert (case.waits, case.last.snapshot.frames) == ({}, []), body
        else:
            assert case.open(), body


def test_circle_of_a_net_that_never_waits_ends_as_a_loop_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nets, "MOST_RUNS", 50)
    source = """
    state: {on: true}
    steps:
      - net:
          steps:
            - {id: a, set: {x: 1}, join: each, next: [{to: a, when: state.on}, b]}
            - {id: b, set: {x: 2}}
    """
    case = Case(source)
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("failed", "loop_limit")
