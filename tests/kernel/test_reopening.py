"""A task is reopened as it was before its answer, while nothing that followed was touched; the numbers and the ledger stay."""

from datetime import timedelta
from typing import Any

import pytest

from engine.kernel.effects import Slice
from engine.kernel.interpreter.reopening import refuse_reopening
from engine.kernel.signals import TaskReopened
from engine.kernel.snapshot import Snapshot
from engine.kernel.timing.periods import spell_moment
from tests.kernel.play import MONDAY, Case

TWO = """
state: {seen: 0}
steps:
  - id: first
    task: {title: First, outcomes: [go, stop], due: P1D}
    timeout: P5D
    reminders: [{after: P2D, steps: [{set: {reminded: true}}]}]
  - set: {seen: 1}
  - {id: second, task: {title: "Second ${result.first.outcome}", not_same_as: [first]}, timeout: P1D}
"""


class Answered:
    """A case, one answer to it, and what the instance was before that."""

    def __init__(self, case: Case, step: str, **answer: Any) -> None:
        assert case.snapshot is not None
        self.case, self.token = case, case.wait_of(step, "task").token
        self.before: Snapshot = case.snapshot
        self.turn: Slice = case.complete(step, **answer)

    def refusal(self) -> str | None:
        return refuse_reopening(self.case.definition, self.before, self.turn, self.token, self.case.now)

    def reopened(self, opened_at: str = "") -> Slice:
        assert self.refusal() is None
        at = opened_at or spell_moment(MONDAY)
        return self.case.send(TaskReopened(self.token, self.before.to_json(), at, "gwen", "by mistake"))


def plain(snapshot: Snapshot) -> dict[str, Any]:
    """Return what a snapshot says, without numbers, moments and the ledger."""
    stored = snapshot.to_json()
    frames = [{key: value for key, value in frame.items() if key not in ("n", "p")} for frame in stored["frames"]]
    kept = ("workflowState", "results", "received", "stepStatus", "status", "undoable", "earlySignals")
    return {key: stored.get(key) for key in kept} | {"frames": sorted(frames, key=str)}


def test_state_results_and_position_are_those_before_the_answer() -> None:
    answered = Answered(Case(TWO), "first", outcome="go")
    assert answered.case.open() == ["second"]
    answered.case.now += timedelta(hours=3)
    answered.reopened()
    assert answered.case.open() == ["first"]
    assert answered.case.snapshot is not None
    assert plain(answered.case.snapshot) == plain(answered.before)
    assert answered.case.snapshot.state == {"seen": 0}


def test_what_returns_has_new_tokens_and_its_old_times() -> None:
    case = Case(TWO)
    old = dict(case.waits)
    answered = Answered(case, "first", outcome="go")
    case.now += timedelta(hours=3)
    turn = answered.reopened()
    assert not set(old) & set(case.waits)
    assert sorted(str(wait.due_at) for wait in old.values()) == sorted(str(wait.due_at) for wait in case.waits.values())
    (task,) = [wait.task for wait in turn.opened if wait.task]
    assert task.due_at == MONDAY + timedelta(days=1)
    assert {closed.kind.value for closed in turn.closed} == {"task", "timer"}


def test_the_case_goes_on_as_if_answered_for_the_first_time() -> None:
    case = Case(TWO)
    Answered(case, "first", outcome="go").reopened()
    case.complete("first", outcome="stop", by="cat")
    assert case.wait_of("second").task is not None
    assert case.wait_of("second").task.title == "Second stop"
    case.complete("second", by="dan")
    assert case.last.status == "completed"


def test_the_ledger_keeps_the_first_answer() -> None:
    case = Case(TWO)
    Answered(case, "first", outcome="go", by="bob").reopened()
    case.complete("first", outcome="go", by="cat")
    task = case.wait_of("second").task
    assert task is not None
    assert set(task.excluded) == {"bob", "cat"}


def test_the_withdrawn_run_and_the_new_one_are_told() -> None:
    case = Case(TWO)
    turn = Answered(case, "first", outcome="go").reopened()
    assert [(entry.step, entry.status.value, entry.began) for entry in turn.trace] == [
        ("second", "cancelled", False),
        ("first", "running", True),
    ]


def test_a_late_answer_to_the_withdrawn_task_is_stale() -> None:
    from engine.kernel.signals import TaskCompleted

    case = Case(TWO)
    answered = Answered(case, "first", outcome="go")
    second = case.wait_of("second").token
    answered.reopened()
    assert case.send(TaskCompleted(second, "done", "dan")).applied == (False,)
    assert case.send(TaskCompleted(answered.token, "go", "dan")).applied == (False,)


NESTED = """
steps:
  - id: around
    group:
      steps:
        - repeat:
            times: 2
            steps:
              - id: pick
                if: "true"
                then: [{id: inner, task: {title: Inner}, mutex: desk}]
  - {id: after, task: {title: After}}
"""


def test_containers_that_ended_with_the_answer_are_open_again() -> None:
    case = Case(NESTED)
    case.complete("inner")
    answered = Answered(case, "inner")
    assert case.open() == ["after"]
    answered.reopened()
    assert case.snapshot is not None
    assert plain(case.snapshot) == plain(answered.before)
    numbers = {frame["n"] for frame in case.snapshot.frames}
    assert set(case.snapshot.mutexes["desk"]) <= numbers
    case.complete("inner")
    assert case.open() == ["after"]


PARALLEL = """
steps:
  - id: both
    parallel:
      branches:
        a: [{id: left, task: {title: Left}}, {id: more, task: {title: More}}]
        b: [{id: right, task: {title: Right}, timeout: P1D, on_timeout: []}]
"""


def test_the_other_branch_is_left_alone() -> None:
    case = Case(PARALLEL)
    right = case.wait_of("right").token
    Answered(case, "left").reopened()
    assert sorted(case.open()) == ["left", "right"]
    assert case.wait_of("right").token == right


RACE = """
steps:
  - id: race
    first:
      branches:
        a: [{id: one, task: {title: One}}, {id: then, task: {title: Then}}]
        b: [{signal: come}, {id: other, task: {title: Other}}]
"""


def test_where_claims_decide_the_answer_stays() -> None:
    case = Case(RACE)
    before = case.snapshot
    answered = Answered(case, "one")
    assert case.open() == ["then"]
    assert before is not None
    assert answered.refusal() == ("decided" if case.definition.claims_decide else None)


SEVERAL = "steps: [{id: vote, task: {title: Vote, complete_when: done == 2}}, {id: after, task: {title: After}}]"


def test_of_several_answers_the_last_is_taken_back() -> None:
    case = Case(SEVERAL)
    first = Answered(case, "vote", by="ann")
    assert first.refusal() == "not_answered"
    Answered(case, "vote", by="bob").reopened()
    case.complete("vote", by="cat")
    assert case.open() == ["after"]
    assert case.snapshot is not None
    assert [one["by"] for one in case.snapshot.results["vote"]["answers"]] == ["ann", "cat"]


@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("", "ended"),
        ("- {call: {python: look}}", "called_out"),
        ("- {id: a, task: {title: A}, finally: [{call: {python: look}}]}", None),
        ("- {workflow: {name: other}}", "child_started"),
        ("- {continue_with: {name: other}}\n  - task: {title: A}", "child_started"),
        ("- {emit: {signal: done, key: k}}\n  - task: {title: A}", "signal_sent"),
        ("- {when: 'false', call: {python: look}}\n  - task: {title: A}", None),
        ("- {wait: {for: P1D}}", None),
        ("- {signal: come}", None),
        ("- {reference: 'R-1'}\n  - task: {title: A}", "decided"),
    ],
)
def test_what_left_the_case_cannot_be_called_back(then: str, code: str | None) -> None:
    source = (
        f"steps:\n  - {{id: first, task: {{title: First}}}}\n  {then}\n"
        if then
        else "steps: [{id: first, task: {title: F}}]"
    )
    answered = Answered(Case(source), "first")
    assert answered.refusal() == code
    if code is None:
        answered.reopened()
        assert answered.case.open() == ["first"]


def test_a_final_call_of_the_answered_step_is_one_too() -> None:
    source = "steps: [{id: first, task: {title: F}, finally: [{call: {python: look}}]}, {task: {title: B}}]"
    assert Answered(Case(source), "first").refusal() == "called_out"


def test_a_task_whose_time_is_over_stays_answered() -> None:
    answered = Answered(Case(TWO), "first", outcome="go")
    answered.case.now += timedelta(days=6)
    assert answered.refusal() == "too_late"
