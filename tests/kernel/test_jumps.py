"""`next` on a step of an ordinary list: where the flow continues, how often, and what an author is told about it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernel.definition import compile_definition
from engine.kernel.effects import MakeCall, Wait
from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import Continue, TaskCompleted
from engine.kernel.simulator import run_tests
from tests.kernel.play import Case

REWORK = """
steps:
  - {id: write, task: {title: Write}}
  - {id: check, task: {title: Check, outcomes: [good, again]}, next: [{to: write, when: result.check.outcome == 'again'}]}
  - {id: send, set: {sent: true}}
"""


def findings(steps: str) -> list[tuple[str, str, int]]:
    """List what the validator says, as severity, code and line."""
    found = normalize(f"workflow: tried\n{steps}").findings
    return [(finding.severity, finding.code, finding.line) for finding in found]


def test_a_step_jumps_back_while_its_condition_holds() -> None:
    case = Case(REWORK)
    for outcome in ("again", "again", "good"):
        case.complete("write")
        case.complete("check", outcome)
    assert (case.status, case.state) == ("completed", {"sent": True})
    assert case.path() == ["write", "check", "write", "check", "write", "check", "send"]


def test_each_pass_has_an_identity_of_its_own() -> None:
    case = Case(REWORK)
    case.complete("write")
    case.complete("check", "again")
    assert case.open() == ["write#2"]
    case.complete("write#2")
    case.complete("check#2", "again")
    case.complete("write#3")
    case.complete("check#3", "good")
    begun = [(run.step, run.iteration) for run in case.trace if run.began]
    assert len(begun) == len(set(begun)) == 7
    assert begun[-1] == ("send", "#3")


def test_calls_of_two_passes_have_two_keys() -> None:
    case = Case("""
    steps:
      - {id: ask, call: {python: ask}}
      - {id: look, set: {n: "${get(state, 'n', 0) + 1}"}, next: [{to: ask, when: state.n < 2}]}
    """)
    first = _call(case.wait_of("ask"))
    case.answer("ask", 1)
    second = _call(case.wait_of("ask"))
    case.answer("ask", 2)
    assert (case.status, case.results["ask"]) == ("completed", 2)
    assert first.key != second.key


def _call(wait: Wait) -> MakeCall:
    assert wait.call is not None
    return wait.call


def test_a_jump_forward_leaves_out_what_is_between() -> None:
    case = Case(
        """
    steps:
      - {id: ask, set: {quick: "${start.quick}"}, next: {to: done, when: state.quick}}
      - {id: slow, set: {slow: true}}
      - {id: done, set: {done: true}}
    """,
        {"quick": True},
    )
    assert (case.status, case.path()) == ("completed", ["ask", "done"])
    assert "slow" not in case.statuses()


def test_the_first_edge_that_holds_is_taken_and_none_goes_on() -> None:
    source = """
    steps:
      - {id: a, set: {a: 1}, next: [{to: c, when: start.n == 1}, {to: d, when: start.n > 0}]}
      - {id: b, set: {b: 1}}
      - {id: c, set: {c: 1}}
      - {id: d, set: {d: 1}}
    """
    walks = {n: "".join(Case(source, {"n": n}).path()) for n in (0, 1, 2)}
    assert walks == {0: "abcd", 1: "acd", 2: "ad"}


def test_a_step_that_was_skipped_or_whose_error_was_handled_does_not_jump() -> None:
    skipped = Case("steps: [{id: a, set: {a: 1}, when: 'false', next: c}, {id: b, set: {b: 1}}, {id: c, set: {c: 1}}]")
    handled = Case("""
    steps:
      - {id: a, fail: no, on_error: [{set: {why: "${error.code}"}}], next: c}
      - {id: b, set: {b: 1}}
      - {id: c, set: {c: 1}}
    """)
    ignored = Case("steps: [{id: a, fail: no, on_error: [], next: c}, {id: b, set: {b: 1}}, {id: c, set: {c: 1}}]")
    assert [case.path() for case in (skipped, handled, ignored)] == [["b", "c"], ["a", "b", "c"], ["a", "b", "c"]]


def test_a_jump_from_an_error_handler_goes_on_beside_the_host() -> None:
    case = Case("""
    steps:
      - {id: mend, task: {title: Mend}}
      - id: pay
        call: {python: pay}
        on_error: [{match: error.code == 'declined', steps: [{set: {failed: true}}, {next: mend}]}]
      - {id: done, set: {done: true}}
    """)
    case.complete("mend")
    case.refuse("pay", "business", "declined")
    assert case.open() == ["mend#2"]
    case.complete("mend")
    case.answer("pay", "paid")
    assert (case.status, case.results["pay"]) == ("completed", "paid")


def test_a_jump_from_a_timeout_and_from_an_interrupting_handler() -> None:
    case = Case("""
    steps:
      - {id: ask, task: {title: Ask}, timeout: P1D, on_timeout: [{id: late, set: {late: true}, next: chase}]}
      - {id: usual, set: {usual: true}, next: done}
      - id: chase
        task: {title: Chase}
        on: [{signal: found, interrupting: true, steps: [{set: {found: "${signal.who}"}, next: ask}]}]
      - {id: done, set: {done: true}}
    """)
    case.advance("P1D")
    assert case.open() == ["chase"]
    case.signal("found", {"who": "ann"})
    assert case.open() == ["ask#2"]
    case.complete("ask")
    assert (case.status, case.path()) == ("completed", ["ask", "late", "chase", "ask", "usual", "done"])
    assert case.statuses()["chase"] == "cancelled"


def test_a_jump_leaves_if_and_switch() -> None:
    case = Case("""
    state: {n: 0}
    steps:
      - {id: work, set: {n: "${state.n + 1}"}}
      - {id: look, if: state.n < 3, then: [{switch: {cases: [{when: state.n < 5, steps: [{next: work}]}]}}]}
      - {id: done, set: {done: true}}
    """)
    assert (case.status, case.state["n"]) == ("completed", 3)
    assert case.path() == ["work", "look", "work", "look", "work", "look", "done"]


def test_a_jump_within_a_round_and_a_branch() -> None:
    case = Case("""
    steps:
      - repeat:
          times: 2
          steps:
            - {id: a, task: {title: A, outcomes: [on, back]}, next: [{to: a, when: result.a.outcome == 'back'}]}
      - parallel:
          branches:
            x: [{id: b, task: {title: B, outcomes: [on, back]}, next: [{to: b, when: result.b.outcome == 'back'}]}]
            y: [{id: c, task: {title: C}}]
    """)
    case.complete("a[0]", "back")
    case.complete("a[0]#2", "on")
    assert case.open() == ["a[1]"]
    case.complete("a", "on")
    case.complete("b", "back")
    assert case.open() == ["c", "b#2"]
    case.complete("b", "on")
    case.complete("c")
    assert case.status == "completed"


def test_jumps_back_end_at_a_limit_that_a_handler_may_catch() -> None:
    source = "state: {n: 0}\nsteps: [{id: a, set: {n: '${state.n + 1}'}, next: {to: a, when: state.n > 0MORE}}, {set: {x: 1}}]"
    endless = Case(source.replace("MORE", ""))
    assert (endless.status, endless.state["n"]) == ("failed", 1001)
    assert endless.last.error is not None
    assert endless.last.error.code == "loop_limit"
    few = Case(source.replace("MORE", ", max: 2"))
    assert (few.status, few.state["n"]) == ("failed", 3)
    caught = Case(source.replace("MORE", ", max: 2").replace("}}, {set", "}, on_error: [{set: {caught: true}}]}, {set"))
    assert (caught.status, caught.state) == ("completed", {"n": 3, "caught": True, "x": 1})


def test_a_condition_that_cannot_be_computed_is_the_step_s_error() -> None:
    case = Case(
        "steps: [{id: a, set: {n: 1}, next: {to: c, when: state.nope}}, {id: b, set: {b: 1}}, {id: c, set: {c: 1}}]"
    )
    assert (case.status, case.statuses()["a"]) == ("incident", "failed")


def test_what_runs_on_keeps_its_pass() -> None:
    case = Case("""
    steps:
      - id: both
        parallel:
          join: any
          rest: let_run
          branches: {x: [{id: x, task: {title: X}}], y: [{id: y, task: {title: Y}}]}
      - {id: check, task: {title: Check, outcomes: [good, again]}, next: {to: both, when: result.check.outcome == 'again'}}
    """)
    case.complete("x")
    case.complete("check", "again")
    assert case.open() == ["y", "x#2", "y#2"]
    case.complete("x#2")
    case.complete("check", "good")
    case.complete("y")
    assert case.status == "running"
    case.complete("y#2")
    assert case.status == "completed"


def test_a_loop_that_stops_early_between_slices_goes_on_where_it_was() -> None:
    case = Case(
        "steps: [{id: go, task: {}}, {id: a, set: {n: \"${get(state, 'n', 0) + 1}\"}, next: {to: a, when: state.n < 50}}]"
    )
    case.send(TaskCompleted(case.wait_of("go").token, "done", "ann", {}), max_steps=7)
    while case.last.more:
        case.send(Continue(), max_steps=7)
    assert (case.status, case.state["n"]) == ("completed", 50)


def test_canonical_keeps_its_hash() -> None:
    source = "workflow: tried\n" + REWORK + "  - {if: 'true', then: [{next: {to: send, max: 3}}]}\n"
    found = normalize(source)
    assert found.canonical is not None, found.findings
    again = normalize(json.dumps(found.canonical))
    assert again.sha256 == found.sha256
    assert compile_definition(found.canonical).has_rounds
    assert found.canonical["steps"][1]["next"] == [{"to": "write", "when": "result.check.outcome == 'again'"}]


BAD = [
    ("steps:\n  - {set: {a: 1}, next: nowhere}", ("error", "unknown_step", 3)),
    ("steps:\n  - group: [{id: a, set: {a: 1}}]\n  - {set: {b: 1}, next: a}", ("error", "next_elsewhere", 4)),
    ("steps:\n  - {id: a, set: {a: 1}}\n  - group: [{set: {b: 1}, next: a}]", ("error", "next_elsewhere", 4)),
    ("steps:\n  - repeat: {times: 2, steps: [{set: {a: 1}, next: b}]}\n  - {id: b, set: {b: 1}}", ("error", "next_elsewhere", 3)),
    (
        "steps:\n  - id: a\n    task: {}\n    on: [{signal: s, steps: [{set: {a: 1}, next: b}]}]\n  - {id: b, set: {b: 1}}",
        ("error", "next_elsewhere", 5),
    ),
    ("on: [{signal: s, interrupting: true, steps: [{next: a}]}]\nsteps: [{id: a, task: {}}]", ("error", "next_elsewhere", 2)),
    ("steps:\n  - graph: [{id: a, task: {}, next: b}, {id: b, task: {}}]", ("error", "out_of_place", 3)),
    ("steps:\n  - selector: [{id: a, task: {}, next: b}, {id: b, task: {}}]", ("error", "out_of_place", 3)),
    ("steps:\n  - {task: {}, finally: [{id: a, set: {a: 1}, next: b}, {id: b, set: {b: 1}}]}", ("error", "out_of_place", 3)),
    ("steps:\n  - {task: {}, next: {to: b, make: 2}}\n  - {id: b, set: {b: 1}}", ("error", "out_of_place", 3)),
    ("steps:\n  - {complete: A, next: b}\n  - {id: b, set: {b: 1}}", ("error", "out_of_place", 3)),
    ("steps:\n  - {id: a, set: {a: 1}}\n  - {set: {b: 1}, next: a}", ("error", "endless_loop", 3)),
    ("steps:\n  - {id: a, if: 'true', then: [{set: {a: 1}}]}\n  - {set: {b: 1}, next: a}", ("error", "endless_loop", 3)),
    ("steps:\n  - {id: a, task: {}}\n  - {set: {b: 1}, next: a}", ("warning", "endless_loop", 3)),
    ("steps:\n  - {set: {a: 1}, next: c}\n  - {id: b, set: {b: 1}}\n  - {id: c, set: {c: 1}}", ("warning", "unreachable", 4)),
    (
        "steps:\n  - {set: {a: 1}, next: [c, {to: b, when: state.a == 1}]}\n  - {id: b, set: {b: 1}}\n  - {id: c, set: {c: 1}}",
        ("warning", "unreachable", 3),
    ),
    (
        ("steps:\n  - {set: {a: 1}, next: {to: c, when: state.a == 1}}\n  - {id: b, call: {python: f}}\n"
        '  - {id: c, set: {c: "${result.b}"}}'),
        ("warning", "maybe_absent", 5),
    ),
    (
        ("steps:\n  - {id: b, call: {python: f}, on_error: [{next: c}]}\n  - {set: {b: 1}}\n"
        '  - {id: c, set: {c: "${result.b}"}}'),
        ("warning", "maybe_absent", 5),
    ),
    (
        ('output: "${result.b}"\nsteps:\n  - {set: {a: 1}, next: {to: c, when: state.a == 1}}\n  - {id: b, call: {python: f}}\n'
        "  - {id: c, set: {c: 1}}"),
        ("warning", "maybe_absent", 2),
    ),
    ("steps:\n  - net: {steps: [{id: a, task: {}, next: {to: b, max: 2}}, {id: b, task: {}}]}", ("error", "out_of_place", 3)),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "wanted"), BAD)
def test_what_an_author_is_told(steps: str, wanted: tuple[str, str, int]) -> None:
    assert wanted in findings(steps)


GOOD = [
    REWORK,
    # the target of a jump is reached, though it comes after an end
    "steps:\n  - {set: {a: 1}, next: {to: c, when: state.a == 1}}\n  - complete: A\n  - {id: c, set: {c: 1}}",
    # an unconditional jump back with an end inside the loop
    "steps:\n  - {id: a, task: {}}\n  - {if: 'state.x == 1', then: [exit]}\n  - {set: {b: 1}, next: a}",
    # what a handler jumps over was not needed; what it jumps back to makes the result sure
    'steps:\n  - {id: a, task: {}}\n  - {id: b, call: {python: f}, on_error: [{next: a}]}\n  - {set: {c: "${result.b}"}}',
    # the step after an unconditional jump is reached by another
    (
        "steps:\n  - {id: a, task: {outcomes: [x, y]}, next: {to: c, when: result.a.outcome == 'y'}}\n"
        "  - {set: {b: 1}, next: d}\n  - {id: c, set: {c: 1}}\n  - {id: d, set: {d: 1}}"
    ),
]


@pytest.mark.parametrize("steps", GOOD)
def test_what_is_no_finding(steps: str) -> None:
    assert findings(steps) == []


def test_a_test_names_an_item_whatever_its_pass() -> None:
    source = """
workflow: tried
steps:
  - for_each:
      each: [x, y]
      steps:
        - {id: a, task: {title: A, outcomes: [on, back]}, next: [{to: a, when: result.a.outcome == 'back'}]}
tests:
  - name: the second item twice
    start: {}
    do:
      - {complete: "a[1]", with: {outcome: back}}
      - {complete: "a[1]", with: {outcome: on}}
      - {expect: {tasks: [a]}}
      - {complete: "a[0]", with: {outcome: on}}
    expect: {status: completed, task_runs: {a: [completed, completed, completed]}}
"""
    found = normalize(source)
    assert found.canonical is not None, found.findings
    (report,) = run_tests(compile_definition(found.canonical), None)
    assert report.failures == ()


def test_a_jump_from_an_escalation_and_from_an_error_handler_of_the_host() -> None:
    case = Case("""
    steps:
      - id: ask
        task: {title: Ask, escalate: [{after: P1D, interrupting: true, steps: [{set: {late: true}, next: end}]}]}
      - {id: usual, set: {usual: true}}
      - id: end
        group: [{id: pay, call: {python: pay}}]
        on: [{error: error.code == 'no', steps: [{next: ask}]}]
    """)
    case.advance("P1D")
    assert case.open() == ["pay"]
    case.refuse("pay", "business", "no")
    assert case.open() == ["ask#2"]
    case.complete("ask")
    assert case.open() == ["pay#2"]
    case.answer("pay")
    assert (case.status, case.state) == ("completed", {"late": True, "usual": True})


def test_a_jump_beside_a_join_that_fired_and_beside_a_withdrawal() -> None:
    case = Case("""
    steps:
      - id: both
        parallel: {join: any, rest: let_run, branches: {x: [{id: x, task: {}}], y: [{id: y, task: {}}]}}
        next: last
      - {id: never, set: {never: true}}
      - {id: last, cancel: {steps: [y]}, next: [{to: end, when: "true"}]}
      - {id: between, set: {between: true}}
      - {id: end, set: {end: true}}
    """)
    case.complete("x")
    assert (case.status, case.state) == ("completed", {"end": True})
    assert case.statuses()["y"] == "cancelled"


EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=2)


@settings(max_examples=60, deadline=None)
@given(st.lists(EDGES, min_size=1, max_size=6))
def test_any_list_walks_as_its_edges_say_and_no_run_is_named_twice(lists: list[list[tuple[int, int]]]) -> None:
    lists = [[(target % len(lists), until) for target, until in edges] for edges in lists]
    steps = [
        {
            "id": f"s{place}",
            "set": {"n": "${state.n + 1}"},
            "next": [{"to": f"s{target}", "when": f"state.n < {until}"} for target, until in edges],
        }
        for place, edges in enumerate(lists)
    ]
    found = normalize(json.dumps({"workflow": "tried", "state": {"n": 0}, "steps": steps}))
    assert found.canonical is not None, found.findings
    case = Case(compile_definition(found.canonical))
    assert case.path() == [f"s{place}" for place in _walk(lists)]
    begun = [(run.step, run.iteration) for run in case.trace if run.began]
    assert len(begun) == len(set(begun))


def _walk(lists: list[list[tuple[int, int]]]) -> list[int]:
    """Walk a list by hand: the first edge whose condition holds, else the step that follows."""
    walked: list[int] = []
    place = 0
    while place < len(lists):
        walked.append(place)
        taken = [target for target, until in lists[place] if len(walked) < until]
        place = taken[0] if taken else place + 1
    return walked
