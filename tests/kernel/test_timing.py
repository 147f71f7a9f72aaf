"""Timeouts of a step and of one attempt, retries under a rate limit, and how many run at once."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.language.normalizer import normalize
from engine.kernel.machine.throttle_slots import places_of
from engine.kernel.signals import CallFailed, Environment, InstanceFacts, RetryDue, Started, StepRetried, TimerDue
from engine.kernel.simulator import run_test
from tests.kernel.play import MONDAY, Case, compiled

CALL = "steps: [{id: c, call: {python: f}%s}, {set: {after: true}}]"


def patience(attributes: str) -> float:
    """Return how many seconds the first attempt of a call has."""
    call = Case(CALL % attributes).wait_of("c", "call").call
    assert call is not None
    return call.timeout_seconds


def test_an_attempt_has_thirty_seconds_or_what_its_author_says() -> None:
    assert patience("") == 30
    assert patience(", attempt_timeout: PT2M") == 120
    assert patience(", attempt_timeout: P2D") == 3600
    assert patience(", timeout: PT10M") == 30
    assert patience(", timeout: PT10M, attempt_timeout: PT2M") == 120


def test_an_attempt_hardly_outlasts_the_whole_step() -> None:
    assert patience(", timeout: PT5S") == 6
    case = Case(CALL % ", timeout: PT1M, retry: {attempts: 9, delay: PT50S}")
    case.refuse("c")
    case.advance("PT50S")
    call = case.wait_of("c", "call").call
    assert call is not None
    assert call.timeout_seconds == 11


def test_the_timeout_covers_all_attempts() -> None:
    case = Case(CALL % ", timeout: PT1M, retry: {attempts: 9, delay: PT25S}, on_timeout: [{set: {late: true}}]")
    case.refuse("c", "timeout", "no_answer")
    case.advance("PT25S")
    case.refuse("c", "timeout", "no_answer")
    case.advance("PT25S")
    case.refuse("c", "timeout", "no_answer")
    case.advance("PT10S")
    assert (case.status, case.state) == ("completed", {"late": True, "after": True})
    assert [run.attempt for run in case.trace if run.step == "c" and run.began] == [1, 2, 3]


def test_a_late_attempt_is_retried_unless_the_author_names_other_errors() -> None:
    case = Case(CALL % ", retry: {attempts: 2, delay: PT1S}")
    case.refuse("c", "timeout", "no_answer")
    assert case.wait_of("c").kind == "retry"
    case = Case(CALL % ", retry: {attempts: 2, delay: PT1S, on: [transport]}")
    case.refuse("c", "timeout", "no_answer")
    assert case.status == "incident"


def test_a_late_attempt_told_after_the_steps_time_is_the_steps_timeout() -> None:
    case = Case(CALL % ", timeout: PT5S, on_timeout: [{set: {late: true}}]")
    case.now += timedelta(seconds=6)
    case.refuse("c", "timeout", "no_answer")
    assert (case.status, case.state.get("late")) == ("completed", True)
    assert case.statuses()["c"] == "timed_out"


def test_uncaught_timeout_of_a_call_is_an_incident_that_can_be_mended() -> None:
    case = Case(CALL % ", timeout: PT5S, on: [{signal: hurry, steps: [{set: {hurried: true}}]}]")
    case.advance("PT5S")
    assert (case.status, case.last.error and case.last.error.error_class) == ("incident", "timeout")
    case.now += timedelta(days=1)
    case.send(StepRetried())
    assert case.status == "running"
    case.signal("hurry")
    assert case.state == {"hurried": True}
    case.advance("PT4S")
    assert case.status == "running"
    case.advance("PT1S")
    assert case.status == "incident"
    case.send(StepRetried())
    case.answer("c")
    assert case.status == "completed"


def test_time_of_a_step_mended_after_another_error_begins_anew() -> None:
    case = Case(CALL % ", timeout: PT1M")
    case.refuse("c")
    assert case.status == "incident"
    case.now += timedelta(days=1)
    case.send(StepRetried())
    case.advance("PT59S")
    assert case.status == "running"


def test_timeout_of_a_call_is_caught_like_other_errors() -> None:
    caught = "{set: {why: '${error.class + \"/\" + error.code}'}}"
    for handler in (f", on_error: [{caught}]", f", on: [{{error: error.class == 'timeout', steps: [{caught}]}}]"):
        case = Case(CALL % (", timeout: PT5S" + handler))
        case.advance("PT5S")
        assert (case.status, case.state) == ("completed", {"why": "timeout/timeout", "after": True})


def test_uncaught_timeout_of_a_child_is_an_incident_of_what_people_owe_the_end() -> None:
    child = Case("steps: [{id: sub, workflow: {name: other}, timeout: P1D}]")
    child.advance("P1D")
    assert (child.status, child.last.error and child.last.error.step) == ("incident", "sub")
    for step in ("task: {title: A}", "signal: {name: s}", "wait: {for: P9D}"):
        case = Case(f"steps: [{{id: a, {step}, timeout: P1D}}]")
        case.advance("P1D")
        assert case.status == "expired"


def test_a_failed_attempt_is_told_as_failed_and_the_next_one_as_waiting() -> None:
    case = Case(CALL % ", retry: {attempts: 2, delay: PT1M}")
    case.refuse("c")
    told = [(run.attempt, run.status.value, run.error and run.error.code) for run in case.trace if run.step == "c"]
    assert told == [(1, "running", None), (1, "failed", "http_503"), (2, "retrying", None)]
    case.advance("PT1M")
    case.answer("c")
    told = [(run.attempt, run.status.value) for run in case.trace if run.step == "c"][3:]
    assert told == [(2, "running"), (2, "success")]


def test_a_retry_that_an_earlier_release_left_waiting_counts_on() -> None:
    case = Case(CALL % ", retry: {attempts: 2, delay: PT1M}")
    case.refuse("c")
    assert case.snapshot is not None
    for frame in case.snapshot.frames:
        if frame.get("step") == "c":
            frame["attempt"] = 1
        elif frame.get("wait") == "retry":
            del frame["at"]
    case.advance("PT1M")
    call = case.wait_of("c", "call").call
    assert call is not None
    assert call.attempt == 2
    case.refuse("c")
    assert case.status == "incident"


class Rationed:
    """A rate limit that says what it is told to, and counts who asked."""

    def __init__(self, *answers: datetime | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def admit(self, key: str, limit: int, seconds: float) -> datetime | None:
        assert (key, limit, seconds) == ("bank", 1, 60)
        self.asked += 1
        return self.answers.pop(0) if self.answers else None


def test_rate_limit_is_asked_before_every_attempt() -> None:
    source = "retry: {attempts: 3, delay: PT1S}, rate_limit: {key: bank, limit: 1, per: PT1M}, timeout: PT1H"
    definition = compiled(CALL % f", {source}")
    facts = InstanceFacts("i-1", "tried", 1, None, MONDAY)
    rationed = Rationed(None, MONDAY + timedelta(minutes=1), None)
    environment = Environment(MONDAY, admit=rationed.admit)
    first = advance(definition, None, facts, [Started({})], environment)
    call = next(wait for wait in first.opened if wait.call)
    failed = advance(definition, first.snapshot, facts, [CallFailed(call.token, "transport", "x", "x")], environment)
    again = advance(definition, failed.snapshot, facts, [RetryDue(failed.opened[0].token)], environment)
    assert rationed.asked == 2
    assert [(wait.kind, wait.due_at) for wait in again.opened] == [("timer", MONDAY + timedelta(minutes=1))]
    assert [(run.attempt, run.status) for run in again.trace] == [(2, "retrying")]
    let = advance(definition, again.snapshot, facts, [TimerDue(again.opened[0].token)], environment)
    assert rationed.asked == 3
    assert [(wait.kind, wait.call and wait.call.attempt) for wait in let.opened] == [("call", 2)]


THREE = """
steps:
  - for_each:
      each: [1, 2, 3]
      steps: [{id: say, %s, throttle: {key: k, limit: 2}}]
"""


def played(source: str, test: dict[str, Any]) -> tuple[str, ...]:
    """Play a test; give what is not as it should be."""
    return run_test(compiled(source), test).failures


def test_only_so_many_run_at_once_first_come_first_served() -> None:
    acts = [
        {"expect": {"tasks": {"say": 2}}},
        {"complete": "say[0]"},
        {"expect": {"tasks": {"say": 2}, "runs": {"say": ["success", "running", "running"]}}},
        {"complete": "say[1]"},
        {"complete": "say[2]"},
    ]
    assert played(THREE % "task: {title: T}", {"do": acts, "expect": {"status": "completed"}}) == ()


HELP = "{id: h, task: {title: H}}"
ENDS = {
    "withdrawn": ("task: {title: T}", "{cancel: {steps: [first]}}", {}),
    "timed out": ("task: {title: T}, timeout: PT1M, on_timeout: []", "{wait: {for: PT2M}}", {}),
    "failed": ("call: {python: f}, on_error: []", "{wait: {for: PT1M}}", {"first": {"error": "business"}}),
    "handled": (f"call: {{python: f}}, on_error: [{HELP}]", "{wait: {for: PT1M}}", {"first": {"error": "business"}}),
    "interrupted": (f"task: {{title: T}}, on: [{{after: PT1M, interrupting: true, steps: [{HELP}]}}]", "{wait: {for: PT2M}}", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_place_is_free_however_the_body_ends(name: str) -> None:
    kind, other, calls = ENDS[name]
    source = f"""
    steps:
      - parallel:
          branches:
            a: [{{id: first, {kind}, throttle: {{key: k, limit: 1}}}}]
            b: [{{id: second, task: {{title: S}}, throttle: {{key: k, limit: 1}}}}]
            c: [{{id: go, task: {{title: G}}}}, {other}]
    """
    acts = [{"complete": "go"}, {"advance": "PT3M"}, {"expect": {"runs": {"second": ["running"]}}}]
    assert played(source, {"calls": calls, "do": acts}) == ()


def test_a_place_is_shared_over_cases_and_an_incident_has_none() -> None:
    source = "steps: [{id: c, task: {title: T, payload: {x: '${start.x}'}}, throttle: {key: k, limit: 1}}]"
    acts = [
        {"start": {"x": 1}, "name": "second"},
        {"expect": {"instances": {"second": {"tasks": ["c"]}}}},
        {"start": {"x": 2}, "name": "third"},
        {"expect": {"instances": {"third": {"tasks": [], "waits": {"timer": 1}}}}},
        {"complete": "c", "in": "second"},
        {"expect": {"instances": {"third": {"tasks": ["c"]}}}},
    ]
    assert played(source, {"start": {}, "do": acts, "expect": {"status": "incident"}}) == ()


def test_a_step_inside_one_that_has_the_place_goes_on() -> None:
    source = "steps: [{id: g, throttle: {key: k, limit: 1}, group: [{id: t, throttle: {key: k, limit: 1}, task: {title: T}}]}]"
    assert played(source, {"do": [{"expect": {"tasks": ["t"]}}]}) == ()


def test_a_mended_step_waits_in_line_for_its_place_again() -> None:
    definition = compiled(CALL % ", throttle: {key: bank, limit: 1}, timeout: PT1M")
    facts = InstanceFacts("i-1", "tried", 1, None, MONDAY)
    let_in: set[int] = set()
    environment = Environment(MONDAY, has_place=let_in.__contains__)
    found = advance(definition, None, facts, [Started({})], environment)
    (run,) = places_of(found.snapshot)
    assert places_of(found.snapshot)[run].waits
    let_in.add(run)
    found = advance(definition, found.snapshot, facts, [TimerDue(found.opened[0].token)], environment)
    assert not places_of(found.snapshot)[run].waits
    call = next(wait for wait in found.opened if wait.call)
    found = advance(definition, found.snapshot, facts, [CallFailed(call.token, "transport", "x", "x")], environment)
    assert (found.status, places_of(found.snapshot)) == ("incident", {})
    let_in.clear()
    found = advance(definition, found.snapshot, facts, [StepRetried()], environment)
    assert (found.status, places_of(found.snapshot)[run].waits) == ("running", True)
    let_in.add(run)
    found = advance(definition, found.snapshot, facts, [TimerDue(found.opened[0].token)], environment)
    assert [(wait.kind, wait.call and wait.call.attempt) for wait in found.opened] == [("timer", None), ("call", 2)]


def test_a_step_that_an_earlier_release_slowed_down_asks_for_a_place() -> None:
    definition = compiled(CALL % ", throttle: {key: bank, limit: 1, per: PT1M}")
    facts = InstanceFacts("i-1", "tried", 1, None, MONDAY)
    found = advance(definition, None, facts, [Started({})], Environment(MONDAY, has_place=lambda run: False))
    for frame in found.snapshot.frames:
        frame.pop("place", None)
    found = advance(
        definition,
        found.snapshot,
        facts,
        [TimerDue(found.opened[0].token)],
        Environment(MONDAY, has_place=lambda run: False),
    )
    assert [place.waits for place in places_of(found.snapshot).values()] == [True]
    assert [wait.kind for wait in found.opened] == ["timer"]


def test_what_says_what_it_means_has_no_findings() -> None:
    for attributes in (
        "timeout: PT10M, attempt_timeout: PT10M",
        "timeout: PT10M, retry: {attempts: 3, delay: PT1M}",
        "timeout: PT20S",
        "throttle: {key: k, limit: 2}, rate_limit: {key: k, limit: 5, per: PT1M}",
    ):
        assert normalize(f"workflow: tried\nsteps:\n  - {{call: {{python: f}}, {attributes}}}\n").findings == ()
