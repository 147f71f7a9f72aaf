"""Offers, graphs and nets."""

from engine.kernel.interpreter.pending_steps import pending_steps
from engine.kernel.signals import TaskClaimed, TaskReleased
from tests.kernel.play import Case

RACE = """
steps:
  - id: race
    first:
      branches:
        alert: [{id: sig, signal: alert}, {id: after_signal, task: {title: S}}]
        time: [{id: nap, wait: {for: PT1H}}, {id: after_timer, task: {title: T}}]
        person: [{id: ask, task: {title: Ask}}, {id: after_ask, task: {title: P}}]
"""


def test_first_that_happens_picks_and_withdraws_the_others() -> None:
    for happen, left in ((lambda c: c.signal("alert"), "after_signal"), (lambda c: c.advance("PT1H"), "after_timer")):
        case = Case(RACE)
        assert case.open() == ["sig", "nap", "ask"]
        happen(case)
        assert case.open() == [left]
    case = Case(RACE)
    case.complete("ask")
    assert case.open() == ["after_ask"]
    late = case.signal("alert")
    assert (late.applied, late.kept) == ((False,), (True,))
    assert case.open() == ["after_ask"]
    case.complete("after_ask")
    assert (case.status, case.results["race"]) == ("completed", {"branch": "person"})


def test_start_picks_on_a_claim_and_a_release_offers_anew() -> None:
    case = Case("""
    steps:
      - id: pick
        first:
          pick: start
          branches: {a: [{id: ta, task: {title: A}}], b: [{id: tb, task: {title: B}}]}
    """)
    token = case.wait_of("ta").token
    case.send(TaskClaimed(token, "bob"))
    assert case.open() == ["ta"]
    case.send(TaskReleased(token))
    assert case.open() == ["ta", "tb"]
    assert case.wait_of("ta").token != token


ORDER = """
steps:
  - id: order
    any_order:
      - {id: a, task: {title: A}}
      - {id: b, task: {title: B}}
      - {id: c, task: {title: C}, needs: [a]}
"""


def test_any_order_runs_each_once_and_never_two_at_a_time() -> None:
    case = Case(ORDER)
    assert case.open() == ["a", "b"]
    case.send(TaskClaimed(case.wait_of("b").token))
    assert case.open() == ["b"]
    case.complete("b")
    assert case.open() == ["a"]
    case.complete("a")
    assert case.open() == ["c"]
    case.complete("c")
    assert case.status == "completed"


def test_completing_an_offered_task_is_claim_and_completion_in_one() -> None:
    case = Case(ORDER)
    token = case.wait_of("b").token
    case.complete("a")
    assert case.open() == ["b", "c"]
    assert case.wait_of("b").token != token


def test_skipped_child_of_any_order_is_told_once() -> None:
    case = Case("""
    steps:
      - any_order:
          - {id: go, signal: go}
          - {id: no, task: {title: N}, when: 'false'}
          - {id: t, task: {title: T}}
      - {id: after, task: {title: After}}
    """)
    case.signal("go")
    case.complete("t")
    assert (case.open(), case.statuses()["no"]) == (["after"], "skipped")


GRAPH = """
steps:
  - id: g
    graph:
      - {id: a, call: {python: f}}
      - {id: b, task: {title: B}}
      - {id: c, task: {title: C}, needs: [a, b]}
      - {id: d, task: {title: D}, needs: [{step: a, on: failure}]}
      - {id: e, set: {seen: "${result.b.by}"}}
"""


def test_graph_runs_each_step_when_its_needs_have_ended() -> None:
    case = Case(GRAPH)
    assert case.open() == ["a", "b"]
    case.answer("a", 1)
    assert case.open() == ["b"]
    case.complete("b")
    assert case.open() == ["c"]
    assert case.statuses()["d"] == "skipped"
    assert case.state == {"seen": "bob"}
    case.complete("c")
    assert case.status == "completed"


PENDING = """
steps:
  - id: all
    graph:
      steps:
        - {id: a, task: {title: A}}
        - {id: b, task: {title: B}, needs: [a]}
        - {id: c, task: {title: C}, needs: [b]}
    on: [{signal: stop, interrupting: true, steps: [{id: stopped, task: {title: Stopped}}]}]
"""


def test_steps_of_a_graph_are_pending_until_what_they_need_has_ended() -> None:
    case = Case(PENDING)
    assert case.snapshot is not None
    assert {step: case.snapshot.step_status[step] for step in "abc"} == {"a": "running", "b": "pending", "c": "pending"}
    case.complete("a")
    assert [step.step for step in pending_steps(case.definition, case.snapshot)] == ["c"]


def test_nothing_stays_pending_in_a_graph_that_was_left() -> None:
    case = Case(PENDING)
    case.signal("stop")
    assert case.snapshot is not None
    assert list(pending_steps(case.definition, case.snapshot)) == []
    case.complete("stopped")
    assert case.status == "completed"
    assert "pending" not in case.snapshot.step_status.values()
    assert not any(run.step in "bc" for run in case.trace)


def test_graph_skips_dead_paths_and_an_expected_failure_does_not_fail_it() -> None:
    case = Case(GRAPH)
    case.refuse("a", "business", "no")
    assert case.open() == ["b", "d"]
    case.complete("b")
    case.complete("d")
    assert (case.status, case.statuses()["c"]) == ("completed", "skipped")


def test_graph_fails_when_nobody_asked_for_a_failure() -> None:
    case = Case("steps: [{graph: [{id: a, call: {python: f}}, {id: b, task: {title: B}, needs: [a]}]}]")
    case.refuse("a", "business", "no")
    assert (case.status, case.statuses()["b"]) == ("failed", "skipped")


def test_net_multi_merge_runs_the_rest_for_every_token() -> None:
    case = Case("""
    steps:
      - net:
          steps:
            - {id: s, set: {x: 1}, next: [a, b]}
            - {id: a, task: {title: A}, next: [m]}
            - {id: b, task: {title: B}, next: [m]}
            - {id: m, task: {title: M}, join: each}
    """)
    case.complete("a")
    assert case.open() == ["b", "m"]
    case.complete("b")
    assert case.open() == ["m", "m#2"]
    case.complete("m")
    case.complete("m#2")
    assert case.status == "completed"


def test_net_loops_by_condition() -> None:
    case = Case("""
    state: {n: 0}
    steps:
      - net:
          steps:
            - {id: a, set: {n: "${state.n + 1}"}, join: each, next: [b]}
            - {id: b, task: {title: B}, next: [{to: a, when: state.n < 3}, {to: c}]}
            - {id: c, set: {done: true}}
    """)
    for _ in range(3):
        case.complete(case.open()[0])
    assert (case.status, case.state) == ("completed", {"n": 3, "done": True})


def test_net_keeps_surplus_tokens_for_the_next_join() -> None:
    case = Case("""
    steps:
      - net:
          leftover: drop
          steps:
            - {id: s, set: {x: 1}, next: [{to: a, make: 2}, b]}
            - {id: a, task: {title: A}, join: each, next: [j]}
            - {id: b, task: {title: B}, join: each, next: [j]}
            - {id: j, task: {title: J}, join: all}
    """)
    case.complete("a")
    case.complete("a#2")
    assert case.open() == ["b"]
    case.complete("b")
    assert case.open() == ["j"]
    case.complete("j")
    assert case.status == "completed"


def test_net_with_tokens_left_is_an_incident_that_names_the_edges() -> None:
    case = Case("""
    steps:
      - id: n
        net:
          steps:
            - {id: s, set: {x: 1}, next: [{to: a, when: 'true'}, {to: b, when: 'false'}], split: many}
            - {id: a, set: {y: 1}, next: [j]}
            - {id: b, set: {y: 1}, next: [j]}
            - {id: j, set: {z: 1}, join: all}
    """)
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "leftover")
    assert "a>j" in case.last.error.message


OR_JOIN = """
steps:
  - net:
      steps:
        - id: s
          set: {x: 1}
          split: many
          next: [{to: a, when: start.a}, {to: b, when: start.b}]
        - {id: a, task: {title: A}, next: [j]}
        - {id: b, task: {title: B}, next: [j]}
        - {id: j, task: {title: J}, join: or}
"""


def test_or_join_waits_only_for_what_can_still_come() -> None:
    case = Case(OR_JOIN, {"a": True, "b": False})
    case.complete("a")
    assert case.open() == ["j"]
    case = Case(OR_JOIN, {"a": True, "b": True})
    case.complete("a")
    assert case.open() == ["b"]
    case.complete("b")
    assert case.open() == ["j"]
