"""An answered task is done again: what began behind it goes, and nothing leaves the case twice."""

import pytest

from engine.kernel.language.normalizer import normalize
from engine.kernel.machine.redoable import redoable_in
from engine.kernel.signals import TaskRedone, TaskReleased
from tests.kernel.play import Case

THREE = """
steps:
  - {id: a, task: {title: A, allow: [redo]}}
  - {id: b, task: {title: B, allow: [redo]}}
  - {id: c, task: {title: C}}
"""


def redo(case: Case, step: str, iteration: str = "") -> bool:
    return case.send(TaskRedone(step, iteration, "ann", "wrong")).applied[0]


def test_flow_goes_back_and_all_behind_is_done_anew() -> None:
    case = Case(THREE)
    case.complete("a", x=1)
    case.complete("b")
    assert case.open() == ["c"]
    assert redo(case, "a")
    assert case.open() == ["a#2"]
    assert case.results["a"]["x"] == 1
    case.complete("a", x=2)
    assert (case.open(), case.results["a"]["x"]) == (["b#2"], 2)
    case.complete("b")
    case.complete("c")
    assert case.status == "completed"
    assert case.path() == ["a", "b", "c", "a", "b", "c"]


def test_what_was_not_answered_or_is_open_again_cannot_be_done_again() -> None:
    case = Case(THREE)
    assert not redo(case, "a")
    case.complete("a")
    assert not redo(case, "b")
    assert not redo(case, "c")
    assert redo(case, "a")
    assert not redo(case, "a")
    case.complete("a")
    assert not redo(case, "a"), "that occurrence was replaced"
    assert redo(case, "a", "#2")
    assert case.open() == ["a#3"]


def test_what_may_be_done_again_is_read_from_the_snapshot() -> None:
    case = Case(THREE)
    case.complete("a")
    case.complete("b")
    assert case.snapshot is not None
    assert dict(redoable_in(case.snapshot)) == {"a": "", "b": ""}
    redo(case, "b")
    assert dict(redoable_in(case.snapshot)) == {"a": ""}


OUTSIDE = """
steps:
  - {id: a, task: {title: A, allow: [redo]}}
  - {id: between, task: {title: Between}}
  - ACT
  - {id: last, task: {title: Last}}
"""


@pytest.mark.parametrize(
    "act",
    [
        '{id: act, call: {http: {method: GET, url: "https://a.example"}}}',
        "{id: act, emit: {signal: done, key: x}}",
        '{id: act, if: "true", then: [{emit: {signal: done, key: x}}]}',
        "{id: act, set: {x: 1}, finally: [{emit: {signal: done, key: x}}]}",
        "{id: act, parallel: {branches: {x: [{emit: {signal: done, key: x}}], y: [{task: {title: Y}}]}, join: none}}",
    ],
)
def test_nothing_is_done_again_once_the_case_acted_on_the_outside(act: str) -> None:
    case = Case(OUTSIDE.replace("ACT", act))
    case.complete("a")
    assert redo(case, "a")
    case.complete("a")
    case.complete("between")
    assert not redo(case, "a", "#2")
    assert case.status == "running"


def test_only_the_own_branch_goes_back() -> None:
    case = Case("""
    steps:
      - parallel:
          branches:
            x: [{id: a, task: {title: A, allow: [redo]}}, {id: b, task: {title: B}}]
            y: [{id: c, task: {title: C}}]
      - {id: d, task: {title: D}}
    """)
    case.complete("a")
    assert case.open() == ["c", "b"]
    assert redo(case, "a")
    assert case.open() == ["c", "a#2"]
    for step in ("a", "b"):
        case.complete(step)
    assert not redo(case, "a", "#2"), "its branch is over"
    case.complete("c")
    assert case.open() == ["d"]


def test_items_and_rounds_are_told_apart() -> None:
    case = Case("""
    steps:
      - for_each: {each: [1, 2], steps: [{id: a, task: {title: A, allow: [redo]}}, {id: b, task: {title: B}}]}
    """)
    case.complete("a[0]")
    case.complete("a[1]")
    assert redo(case, "a", "[1]")
    assert case.open() == ["b[0]", "a[1]#2"]


def test_what_lingers_from_before_stays_and_from_behind_goes() -> None:
    fork = "{{id: {0}, parallel: {{branches: {{x: [{{id: {0}x, task: {{title: X}}}}]}}, join: none}}}}"
    case = Case(f"""
    steps:
      - {fork.format("before")}
      - {{id: a, task: {{title: A, allow: [redo]}}}}
      - {fork.format("behind")}
      - {{id: b, task: {{title: B}}}}
    """)
    case.complete("a")
    assert case.open() == ["beforex", "behindx", "b"]
    assert redo(case, "a")
    assert case.open() == ["beforex", "a#2"]


def test_branch_that_waits_only_for_what_lingers_can_go_back() -> None:
    case = Case("""
    steps:
      - parallel:
          branches:
            only:
              - {id: a, task: {title: A, allow: [redo]}}
              - {id: fork, parallel: {branches: {x: [{id: x, task: {title: X}}]}, join: none}}
      - {id: b, task: {title: B}}
    """)
    case.complete("a")
    assert case.open() == ["x"]
    assert redo(case, "a")
    assert case.open() == ["a#2"]
    case.complete("a")
    case.complete("x")
    assert case.open() == ["b"]


def test_timers_and_watches_behind_go_with_what_they_watch() -> None:
    case = Case("""
    steps:
      - {id: a, task: {title: A, allow: [redo]}}
      - {id: b, timeout: P1D, task: {title: B}, on_timeout: [{id: late, task: {title: Late}}]}
      - {id: c, task: {title: C}}
    """)
    case.complete("a")
    assert redo(case, "a")
    case.advance("P2D")
    assert case.open() == ["a#2"]


def test_an_error_behind_the_task_is_gone_with_it() -> None:
    case = Case("""
    steps:
      - {id: a, task: {title: A, allow: [redo], form: {type: object, properties: {n: {type: integer}}}}}
      - {id: bad, set: {x: "${10 / result.a.n}"}}
      - {id: b, task: {title: B}}
    """)
    case.complete("a", n=0)
    assert case.status == "incident"
    assert redo(case, "a")
    assert (case.status, case.open(), case.last.error) == ("running", ["a#2"], None)
    case.complete("a", n=2)
    assert case.open() == ["b#2"]


def test_vote_begins_anew() -> None:
    case = Case("""
    steps:
      - {id: vote, task: {title: V, users: [ann, bob], complete_when: done >= 2, allow: [redo]}}
      - {id: b, task: {title: B}}
    """)
    case.complete("vote", by="ann")
    assert not redo(case, "vote")
    case.complete("vote", by="bob")
    assert redo(case, "vote")
    case.complete("vote", by="ann")
    assert case.open() == ["vote#2"]


def test_one_who_checked_does_not_do_what_was_checked_and_check_again() -> None:
    case = Case("""
    steps:
      - {id: a, task: {title: A, allow: [redo]}}
      - {id: b, task: {title: B, not_same_as: [a], allow: [redo]}}
      - {id: c, task: {title: C}}
    """)
    case.complete("a", by="ann")
    case.complete("b", by="bob")
    redo(case, "a")
    case.complete("a", by="bob")
    task = case.wait_of("b").task
    assert task is not None
    assert set(task.excluded) == {"ann", "bob"}


def test_a_claim_of_a_withdrawn_task_is_stale() -> None:
    case = Case(THREE)
    case.complete("a")
    token = case.wait_of("b").token
    redo(case, "a")
    assert case.send(TaskReleased(token)).applied == (False,)


@pytest.mark.parametrize(
    "steps",
    [
        "[{id: a, task: {title: A, allow: [redo]}}]",
        "[{any_order: [{id: a, task: {title: A, allow: [redo]}}, {id: b, task: {title: B}}]}]",
        "[{if: 'true', then: [{id: a, task: {title: A, allow: [redo]}}]}, {id: b, task: {title: B}}]",
    ],
)
def test_where_nothing_follows_redo_is_an_error(steps: str) -> None:
    found = normalize(f"workflow: tried\nsteps: {steps}")
    assert [one.code for one in found.findings if one.severity == "error"] == ["redo_never"]
