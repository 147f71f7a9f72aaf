"""A case runs until every live branch waits, and continues from there."""

import gc

import pytest

from engine.kernel.errors import KernelError
from engine.kernel.signals import (
    CancelCase,
    Continue,
    RetryDue,
    Started,
    StepRetried,
    StepSkipped,
    TaskCompleted,
    TimerDue,
)
from engine.kernel.snapshot import Snapshot, UnreadableSnapshot
from engine.kernel.steps.parallel import MOST_ITEMS
from tests.kernel.play import MONDAY, Case, hours

APPROVAL = """
input: {type: object, properties: {amount: {type: number}}}
reference: {key: "${'EXP-' + string(start.amount)}"}
state: {band: "${start.amount > 1000 ? 'high' : 'low'}"}
output: {paid: "${has(result.pay)}", band: "${state.band}"}
steps:
  - id: review
    task: {title: "Review ${instance.reference}", roles: [finance], outcomes: [approve, reject], not_same_as: [start]}
  - id: decide
    if: result.review.outcome == 'approve'
    then:
      - id: pay
        call: {http: {method: POST, url: "https://bank.example/pay", body: {amount: "${start.amount}"}}}
        retry: {attempts: 3, delay: PT10S, factor: 2}
    else:
      - complete: {outcome: REJECTED}
"""


def test_approved_claim_is_paid_and_completes() -> None:
    case = Case(APPROVAL, {"amount": 12})
    assert case.open() == ["review"]
    case.complete("review", "approve")
    assert case.open() == ["pay"]
    case.answer("pay", {"status": 200})
    assert (case.status, case.last.output) == ("completed", {"paid": True, "band": "low"})
    assert case.path() == ["review", "decide", "pay"]


def test_rejected_claim_ends_under_the_authors_name() -> None:
    case = Case(APPROVAL, {"amount": 2000})
    case.complete("review", "reject")
    assert (case.status, case.last.outcome, case.last.output) == (
        "completed",
        "REJECTED",
        {"paid": False, "band": "high"},
    )


def test_task_carries_what_people_see_and_who_may_not_act() -> None:
    task = Case(APPROVAL, {"amount": 12}).wait_of("review").task
    assert task is not None
    assert (task.title, task.roles, task.excluded) == ("Review EXP-12", ("finance",), ("ann",))
    assert [outcome.name for outcome in task.outcomes] == ["approve", "reject"]


def test_answer_is_kept_with_who_and_when() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve", by="bob")
    assert case.results["review"] == {
        "outcome": "approve", "by": "bob", "at": "2030-01-07T09:00:00Z", "comment": None, "expired": False,
    }  # fmt: skip


def test_second_answer_is_stale_and_changes_nothing() -> None:
    case = Case(APPROVAL, {"amount": 12})
    token = case.wait_of("review").token
    case.complete("review", "approve")
    before = case.last.snapshot.to_json()
    again = case.send(TaskCompleted(token, "reject", "eve"))
    assert again.applied == (False,)
    assert again.snapshot.to_json() == before
    assert (again.opened, again.closed, again.trace) == ((), (), ())


def test_second_start_is_stale() -> None:
    case = Case(APPROVAL, {"amount": 12})
    assert case.send(Started({"amount": 1})).applied == (False,)


def test_late_event_after_the_end_is_stale() -> None:
    case = Case(APPROVAL, {"amount": 12})
    token = case.wait_of("review").token
    case.send(CancelCase("not needed"))
    assert case.status == "cancelled"
    assert case.send(TaskCompleted(token, "approve", "bob")).applied == (False,)


def test_cancelled_case_is_clean() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.send(CancelCase("not needed"))
    assert (case.waits, case.last.snapshot.frames) == ({}, [])
    assert case.statuses()["review"] == "cancelled"


def test_failed_call_is_tried_again_later_with_the_same_key() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve")
    first = case.wait_of("pay").call
    case.refuse("pay")
    retry = case.wait_of("pay", "retry")
    assert retry.due_at is not None
    assert (retry.due_at - MONDAY).total_seconds() == 10
    case.advance("PT10S")
    second = case.wait_of("pay").call
    assert first is not None
    assert second is not None
    assert (first.key, first.attempt, second.key, second.attempt) == ("i-1:decide/then/pay", 1, first.key, 2)


def test_attempts_are_total_executions_and_delays_grow() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve")
    case.refuse("pay")
    case.advance("PT10S")
    case.refuse("pay")
    retry = case.wait_of("pay", "retry")
    assert retry.due_at is not None
    assert (retry.due_at - case.now).total_seconds() == 20
    case.advance("PT20S")
    case.refuse("pay")
    assert case.status == "incident"


def test_incident_keeps_the_failed_step_and_an_operator_retries_it() -> None:
    case = Case(APPROVAL.replace("attempts: 3", "attempts: 1"), {"amount": 12})
    case.complete("review", "approve")
    case.refuse("pay")
    assert case.status == "incident"
    assert case.last.error is not None
    assert (case.last.error.error_class, case.last.error.step) == ("transport", "pay")
    assert case.statuses()["pay"] == "failed"
    case.send(StepRetried())
    case.answer("pay", {"status": 200})
    assert (case.status, case.last.error) == ("completed", None)


def test_operator_may_pass_over_a_failed_step() -> None:
    case = Case(APPROVAL.replace("attempts: 3", "attempts: 1"), {"amount": 12})
    case.complete("review", "approve")
    case.refuse("pay")
    case.send(StepSkipped(output={"status": 200}, reason="paid by hand"))
    assert (case.status, case.results["pay"]) == ("completed", {"status": 200})


def test_business_error_of_a_call_fails_the_case() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve")
    case.refuse("pay", "business", "http_404")
    assert case.status == "failed"
    assert case.last.error is not None
    assert case.last.error.code == "http_404"
    assert case.waits == {}


def test_expression_error_is_an_incident_and_never_raises() -> None:
    case = Case("steps: [{id: a, set: {x: '${start.missing}'}}]")
    assert case.status == "incident"
    assert case.last.error is not None
    assert (case.last.error.error_class, case.last.error.step) == ("expression", "a")
    assert "start.missing" in case.last.error.message


def test_initial_state_that_cannot_be_computed_is_an_incident_that_can_be_retried() -> None:
    case = Case("state: {x: '${start.missing}'}\nsteps: [{id: a, set: {y: 1}}]")
    assert case.status == "incident"
    assert case.send(StepRetried()).status == "incident"


def test_timer_rings_at_its_time() -> None:
    case = Case("steps: [{id: nap, wait: {for: PT2H}}, {id: after, set: {woke: true}}]")
    wait = case.wait_of("nap")
    assert wait.due_at == MONDAY + hours(2)
    case.send(TimerDue(wait.token))
    assert (case.status, case.state) == ("completed", {"woke": True})


def test_wait_until_takes_a_computed_moment() -> None:
    case = Case("steps: [{id: nap, wait: {until: \"${timestamp('2030-02-01T00:00:00Z') + period('P1D')}\"}}]")
    due = case.wait_of("nap").due_at
    assert due is not None
    assert due.isoformat() == "2030-02-02T00:00:00+00:00"


def test_bad_duration_is_the_steps_error() -> None:
    case = Case("steps: [{id: nap, wait: {for: '${start.long}'}}]", {"long": "soon"})
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "bad_duration")


TIMED = """
steps:
  - id: ask
    task: {title: Ask, outcomes: [yes, no]%s}
    timeout: P5D%s
  - id: after
    set: {seen: "${get(result, 'ask.outcome', 'none')}"}
"""


def test_expired_task_takes_the_authors_answer() -> None:
    case = Case(TIMED % (", on_expire: {outcome: no, note: late}", ""))
    case.advance("P5D")
    assert case.status == "completed"
    assert case.results["ask"]["expired"] is True
    assert (case.state["seen"], case.results["ask"]["by"], case.results["ask"]["note"]) == ("no", None, "late")
    assert case.statuses()["ask"] == "timed_out"
    assert {closed.how.value for closed in case.last.closed} == {"expired", "answered"}


def test_on_timeout_runs_and_the_flow_goes_on() -> None:
    case = Case(TIMED % ("", "\n    on_timeout: [{id: note, set: {late: true}}]"))
    case.advance("P5D")
    assert (case.status, case.state["late"], case.results["ask"]["outcome"]) == ("completed", True, None)
    assert case.statuses()["ask"] == "timed_out"


def test_empty_on_timeout_ignores() -> None:
    case = Case(TIMED % ("", "\n    on_timeout: []"))
    case.advance("P5D")
    assert case.status == "completed"


def test_uncaught_timeout_expires_the_case() -> None:
    case = Case(TIMED % ("", ""))
    case.advance("P5D")
    assert (case.status, case.waits) == ("expired", {})


def test_answer_in_time_withdraws_the_timeout() -> None:
    case = Case(TIMED % ("", ""))
    timeout = case.wait_of("ask", "timer").token
    case.complete("ask", "yes")
    assert case.send(TimerDue(timeout)).applied == (False,)
    assert case.status == "completed"


def test_handler_catches_what_matches_and_sees_the_error() -> None:
    case = Case("""
    steps:
      - id: look
        call: {python: find}
        on_error:
          - match: error.code == 'not_found'
            steps: [{id: note, set: {code: "${error.code}"}}]
      - id: after
        set: {done: true}
    """)
    case.refuse("look", "business", "not_found")
    assert (case.status, case.state) == ("completed", {"code": "not_found", "done": True})
    assert case.statuses()["look"] == "failed"


def test_handler_does_not_swallow_what_does_not_match() -> None:
    case = Case("""
    steps:
      - id: look
        call: {python: find}
        on_error: [{match: error.code == 'not_found', steps: []}]
    """)
    case.refuse("look", "business", "other")
    assert case.status == "failed"


def test_handler_may_wait() -> None:
    case = Case("""
    steps:
      - id: look
        call: {python: find}
        on_error: [{steps: [{id: help, task: {title: Help}}]}]
    """)
    case.refuse("look")
    assert (case.status, case.open()) == ("running", ["help"])
    case.complete("help")
    assert case.status == "completed"


def test_empty_on_error_ignores_and_allow_failure_too() -> None:
    for attribute in ("on_error: []", "allow_failure: true"):
        case = Case(f"steps: [{{id: look, call: {{python: find}}, {attribute}}}, {{id: after, set: {{a: 1}}}}]")
        case.refuse("look", "business", "x")
        assert (case.status, case.state, case.statuses()["look"]) == ("completed", {"a": 1}, "failed")


def test_error_passes_up_to_the_group_that_handles_it() -> None:
    case = Case("""
    steps:
      - id: all
        group:
          - {id: one, fail: {code: no_luck, message: sorry}}
          - {id: two, set: {never: true}}
        on_error: [{steps: [{set: {why: "${error.message}"}}]}]
    """)
    assert (case.status, case.state) == ("completed", {"why": "sorry"})


def test_skipped_step_says_why() -> None:
    case = Case("steps: [{id: a, when: start.go, set: {x: 1}}]", {"go": False})
    assert (case.status, case.state, case.statuses()) == ("completed", {}, {"a": "skipped"})
    assert case.trace[-1].reason == "when: start.go was false"


def test_set_sees_the_state_before_it_and_writes_inside_objects() -> None:
    case = Case("""
    state: {a: 1, deep: {x: 1, y: 2}}
    steps: [{set: {a: "${state.a + 1}", b: "${state.a}", deep.x: 9}}]
    """)
    assert case.state == {"a": 2, "b": 1, "deep": {"x": 9, "y": 2}}
    changed = [(change.key, change.old, change.new) for change in case.last.changes]
    assert changed[0] == ("a", 1, 2)


def test_if_present_writes_only_what_is_there() -> None:
    case = Case("state: {a: 1}\nsteps: [{set: {a: '${start.a}', b: 2}, if_present: true}]", {"a": None})
    assert case.state == {"a": 1, "b": 2}


def test_into_names_the_result_of_a_call() -> None:
    case = Case("steps: [{id: ask, call: {python: f, into: found}}, {set: {x: '${result.found.y}'}}]")
    case.answer("ask", {"y": 5})
    assert case.state == {"x": 5}


def test_output_replaces_the_result() -> None:
    case = Case("steps: [{id: ask, task: {title: A}, output: \"${task.by + '!'}\"}]")
    case.complete("ask")
    assert case.results["ask"] == "bob!"


def test_long_automatic_case_stops_early_and_goes_on() -> None:
    source = "steps:\n" + "\n".join(f"  - {{id: s{n}, set: {{x: {n}}}}}" for n in range(30))
    case = Case(source.replace("steps:\n", "steps:\n  - {id: nap, wait: {for: PT1S}}\n"))
    token = case.wait_of("nap").token
    case.send(TimerDue(token), max_steps=10)
    assert (case.last.more, case.status) == (True, "running")
    rounds = 0
    while case.last.more:
        case.send(Continue(), max_steps=10)
        rounds += 1
    assert (case.status, case.state, rounds) == ("completed", {"x": 29}, 3)


def test_slice_leaves_nothing_to_the_garbage_collector() -> None:
    case = Case(APPROVAL, {"amount": 12})
    gc.collect()
    gc.disable()
    try:
        case.complete("review", "approve")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_unknown_event_is_a_broken_invariant() -> None:
    case = Case(APPROVAL, {"amount": 1})
    with pytest.raises(KernelError):
        case.send("nonsense")  # type: ignore[arg-type]


def test_snapshot_of_an_unknown_release_is_unreadable() -> None:
    with pytest.raises(UnreadableSnapshot):
        Snapshot.from_json({"engineSchemaVersion": 99})
    with pytest.raises(UnreadableSnapshot):
        Snapshot.from_json({"engineSchemaVersion": 1})


def test_resume_pointer_says_where_a_wait_stands() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve")
    pointer = case.last.snapshot.resume_pointer(case.wait_of("pay").token)
    assert pointer == {
        "entryPointKind": "call", "taskName": "pay", "branchPath": "decide/then/pay",
        "nextStepIndex": 1, "iteration": "",
    }  # fmt: skip


def test_stored_at_each_wait_equals_kept_in_memory() -> None:
    cases = [Case(APPROVAL, {"amount": 12}, stored=stored) for stored in (True, False)]
    for case in cases:
        case.complete("review", "approve")
        case.refuse("pay")
        case.send(RetryDue(case.wait_of("pay", "retry").token))
        case.answer("pay", {"status": 200})
    assert cases[0].last.snapshot.to_json() == cases[1].last.snapshot.to_json()
    assert [one.trace for one in cases[0].slices] == [one.trace for one in cases[1].slices]


def test_text_that_cannot_be_stored_is_the_steps_error() -> None:
    case = Case("steps: [{id: t, task: {title: T, type: '${start.long}'}}]", {"long": "x" * 101})
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "too_long")


def test_history_says_what_a_call_was_made_with() -> None:
    case = Case(APPROVAL, {"amount": 12})
    case.complete("review", "approve")
    begun = [run for run in case.trace if run.step == "pay" and run.began]
    assert [run.input["body"] for run in begun] == [{"amount": 12}]


def test_long_duration_is_spelled_without_an_exponent() -> None:
    case = Case("steps: [{id: nap, wait: {for: \"${timestamp('2030-06-07T09:00:00Z') - now}\"}}]")
    due = case.wait_of("nap").due_at
    assert due is not None
    assert (due.month, due.day) == (6, 7)


@pytest.mark.security("one tenant's load leaves its neighbours served")
@pytest.mark.parametrize(("items", "ends"), [(10, "completed"), (MOST_ITEMS + 1, "incident"), (20_000, "incident")])
def test_more_items_than_the_limit_are_an_error_of_the_step(items: int, ends: str) -> None:
    each = "workflow: w\nsteps:\n  - {id: all, for_each: {each: '${start.items}', limit: 10000, steps: [{id: m, set: {n: 1}}]}}\n"
    case = Case(each, start={"items": [0] * items}, stored=False)
    assert case.status == ends
    assert (case.last.error is not None) == (ends == "incident")
