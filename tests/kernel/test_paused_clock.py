"""The clock of a task is paused while a question about it is open, where its author says so."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.kernel.effects import ChangeTask, NotifyPeople, PauseClock, ResumeClock, Slice
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import ClockPaused, ClockResumed, Environment, TaskCompleted, TimerDue
from engine.kernel.simulator import run_test
from engine.kernel.snapshot import Snapshot
from engine.kernel.tasks.rules import NO_RULES, AskRule, TaskRules
from engine.kernel.timing.calendars import Calendar
from engine.kernel.timing.pauses import Pause
from tests.kernel.play import MONDAY, Case, compiled

HOUR = timedelta(hours=1)
OFFICE = Calendar.from_json({"timezone": "UTC", "hours": {"mon-fri": "09:00-17:00"}})
WATCHED = """
steps:
  - id: check
    timeout: PT10H
    task:
      title: Check
      due: PT4H
      sla: PT5H
      remind: [{{every: PT2H, times: 3}}]
      escalate: [{{after: PT6H, priority: high}}]
      on_expire: {{outcome: done}}
      {ask}
"""
PAUSING = WATCHED.format(ask="ask: {pause: true}")


class Office(Case):
    """A case whose environment knows a calendar."""

    def send(self, *events: Any, max_steps: int = 100_000) -> Slice:
        environment = Environment(self.now, max_steps, calendar={"office": OFFICE}.get)
        self.last = advance(self.definition, self.snapshot, self.facts, events, environment)
        self.snapshot = Snapshot.from_json(json.loads(json.dumps(self.last.snapshot.to_json())))
        for closed in self.last.closed:
            del self.waits[closed.token]
        self.waits.update({wait.token: wait for wait in self.last.opened})
        return self.last


def at(case: Case, hours: float) -> Case:
    case.now = MONDAY + timedelta(hours=hours)
    return case


def token(case: Case) -> int:
    return case.wait_of("check").token


def dues(case: Case) -> list[float]:
    """Give when the timers ring, in hours since the start."""
    return sorted((wait.due_at - MONDAY) / HOUR for wait in case.waits.values() if wait.due_at is not None)


def of_kind(case: Case, kind: type) -> list[Any]:
    return [effect for effect in case.last.effects if isinstance(effect, kind)]


def test_nothing_is_due_while_the_clock_stands_still_and_everything_later_by_the_pause() -> None:
    case = Case(PAUSING)
    assert dues(case) == [2, 5, 6, 10]
    before = set(case.waits)
    at(case, 1).send(ClockPaused(token(case)))
    assert dues(case) == []
    assert of_kind(case, PauseClock) == [PauseClock(token(case), "check", None)]
    at(case, 31).send(ClockResumed(token(case)))
    assert dues(case) == [32, 35, 36, 40]
    assert set(case.waits) & before == {token(case)}, "a timer that was taken away does not return under its old token"
    (resumed,) = of_kind(case, ResumeClock)
    assert resumed.pause.move(MONDAY + 4 * HOUR) == MONDAY + 34 * HOUR


def test_what_was_due_before_the_question_keeps_its_moment() -> None:
    case = Case(PAUSING)
    at(case, 5.5).send(TimerDue(next(one.token for one in case.waits.values() if one.due_at == MONDAY + 5 * HOUR)))
    at(case, 7).send(ClockPaused(token(case)))
    at(case, 8).send(ClockResumed(token(case)))
    assert dues(case) == [2, 6, 11], "what the worker had not yet fired is due at once"


def test_a_late_timer_of_before_is_stale_and_a_second_question_pauses_anew() -> None:
    case = Case(PAUSING)
    ring = next(one.token for one in case.waits.values() if one.due_at == MONDAY + 2 * HOUR)
    for number in (1, 2):
        at(case, number).send(ClockPaused(token(case)))
        at(case, number + 0.5).send(TimerDue(ring))
        assert case.last.applied == (False,)
        at(case, number + 1).send(ClockResumed(token(case)))
    assert dues(case) == [4, 7, 8, 12]


def test_repeating_reminders_count_on_from_the_moved_time() -> None:
    case = Case(PAUSING)
    at(case, 1).send(ClockPaused(token(case)))
    at(case, 11).send(ClockResumed(token(case)))
    ring = next(one.token for one in case.waits.values() if one.due_at == MONDAY + 12 * HOUR)
    at(case, 12).send(TimerDue(ring))
    assert [effect.why for effect in of_kind(case, NotifyPeople)] == ["remind"]
    assert dues(case) == [14, 15, 16, 20]


@pytest.mark.parametrize(("role_due", "kind"), [(5, ChangeTask), (6, ChangeTask)])
def test_escalations_and_missed_promises_come_after_the_moved_time(role_due: int, kind: type) -> None:
    case = Case(PAUSING)
    at(case, 1).send(ClockPaused(token(case)))
    at(case, 2).send(ClockResumed(token(case)))
    ring = next(one.token for one in case.waits.values() if one.due_at == MONDAY + (role_due + 1) * HOUR)
    at(case, role_due + 1).send(TimerDue(ring))
    assert of_kind(case, kind)


def test_expiry_comes_after_the_moved_time() -> None:
    case = Case(PAUSING)
    at(case, 1).send(ClockPaused(token(case)))
    at(case, 2).send(ClockResumed(token(case)))
    ring = next(one.token for one in case.waits.values() if one.due_at == MONDAY + 11 * HOUR)
    at(case, 11).send(TimerDue(ring))
    assert case.snapshot is not None
    assert case.snapshot.results["check"]["expired"] is True


def test_pause_ends_by_itself_after_the_authors_time() -> None:
    case = Case(WATCHED.format(ask="ask: {pause: true, at_most: PT3H}"))
    at(case, 1).send(ClockPaused(token(case)))
    assert dues(case) == [4]
    assert of_kind(case, PauseClock) == [PauseClock(token(case), "check", MONDAY + 4 * HOUR)]
    at(case, 4).send(TimerDue(case.wait_of("check", "timer").token))
    assert dues(case) == [5, 8, 9, 13]
    assert [effect.ran_out for effect in of_kind(case, ResumeClock)] == [True]
    at(case, 6).send(ClockResumed(token(case)))
    assert case.last.applied == (False,), "the answer came after the pause had ended"


def test_a_task_may_be_answered_while_its_clock_stands_still() -> None:
    case = Case(PAUSING)
    at(case, 1).send(ClockPaused(token(case)))
    at(case, 2).send(TaskCompleted(token(case), "done", "ann"))
    assert case.last.status == "completed"
    assert not case.waits


@pytest.mark.parametrize("ask", ["", "ask: {pause: false}"])
def test_without_the_authors_word_the_clock_runs_on(ask: str) -> None:
    case = Case(WATCHED.format(ask=ask))
    at(case, 1).send(ClockPaused(token(case)))
    assert case.last.applied == (False,)
    assert dues(case) == [2, 5, 6, 10]


def test_second_pause_of_a_paused_clock_and_second_end_change_nothing() -> None:
    case = Case(PAUSING)
    at(case, 1).send(ClockPaused(token(case)), ClockPaused(token(case)))
    assert case.last.applied == (True, False)
    at(case, 2).send(ClockResumed(token(case)), ClockResumed(token(case)))
    assert case.last.applied == (True, False)


def test_business_time_moves_by_working_time_and_plain_time_by_plain_time() -> None:
    case = Office("calendar: office\n" + WATCHED.format(ask="ask: {pause: true, at_most: P2D}"))
    at(case, 1).send(ClockPaused(token(case)))
    assert dues(case) == [49], "two business days"
    at(case, 25).send(ClockResumed(token(case)))  # Tuesday at ten: a working day of eight hours later
    by_role = {frame.role: frame.due for frame in case_frames(case) if frame.role}
    assert by_role == {
        "sla": "2030-01-08T14:00:00Z",
        "escalate.0": "2030-01-08T15:00:00Z",
        "remind.0": "2030-01-08T11:00:00Z",
        "timeout": "2030-01-08T19:00:00Z",
    }


def case_frames(case: Case) -> list[Any]:
    assert case.snapshot is not None
    from engine.kernel.snapshot import Frame

    return [Frame.read(frame) for frame in case.snapshot.frames]


def moment(day: int, hour: float) -> datetime:
    return datetime(2030, 1, day, tzinfo=UTC) + timedelta(hours=hour)


@pytest.mark.parametrize(
    ("since", "until", "due", "moved"),
    [
        ((7, 10), (7, 12), (7, 16), (8, 10)),  # two working hours
        ((7, 18), (8, 8), (8, 12), (8, 12)),  # overnight: no working time
        ((11, 16), (14, 10), (11, 17), (14, 11)),  # over a weekend
        ((7, 10), (8, 10), (7, 9.5), (7, 9.5)),  # late before the question
        ((11, 17), (12, 12), (11, 20), (14, 9)),  # due while the office is closed: when it opens
    ],
)
def test_pause_on_a_calendar(since: Any, until: Any, due: Any, moved: Any) -> None:
    assert Pause(moment(*since), moment(*until), OFFICE).move(moment(*due)) == moment(*moved)


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        ("ask: {pause: perhaps}", "wrong_type"),
        ("ask: {at_most: P1D}", "missing_key"),
        ("ask: {pause: true, at_most: PT0S}", "bad_duration"),
        ("ask: {pause: true, at_most: '${start.time}'}", "bad_duration"),
        ("ask: {paws: true, pause: true}", "unknown_key"),
    ],
)
def test_wrong_words_are_findings(ask: str, code: str) -> None:
    found = normalize(f"workflow: x\nsteps: [{{task: {{title: A, {ask}}}}}]", allow_not_yet=True).findings
    assert [finding.code for finding in found] == [code]


def test_rules_keep_what_the_author_says() -> None:
    for rule in (AskRule(), AskRule("P2D")):
        assert TaskRules.from_json(TaskRules(ask=rule).to_json()).ask == rule
    assert TaskRules.from_json({"ask": "yes"}) == NO_RULES
    assert "ask" not in NO_RULES.to_json()


ASKED = """
steps:
  - id: check
    task: {title: Check, due: P1D, ask: {pause: true}}
tests:
  - name: asked and answered
    people: {ann: {}, bob: {}}
    start: {}
    do:
      - {ask: check, by: ann, refused: status}
      - {claim: check, by: ann}
      - {ask: check, by: ann, with: ann, refused: invalid}
      - {ask: check, by: ann, with: bob}
      - {ask: check, by: ann, with: bob, refused: waiting}
      - {advance: P3D}
      - {expect: {due: {check: null}}}
      - {answer: check, by: ann, refused: not_found}
      - {answer: check, by: bob}
      - {expect: {due: {check: "2030-01-11T09:00:00Z"}}}
      - {answer: check, by: bob, refused: not_found}
      - {ask: check, by: ann, with: bob}
      - {advance: P1D}
      - {withdraw: check, by: ann}
      - {withdraw: check, by: ann, refused: status}
      - {expect: {due: {check: "2030-01-12T09:00:00Z"}}}
      - {ask: check, by: ann, with: bob}
      - {advance: P1D}
      - {release: check, by: ann}
      - {expect: {due: {check: "2030-01-13T09:00:00Z"}}}
"""


def test_stored_tests_ask_and_answer() -> None:
    definition = compiled(ASKED)
    assert run_test(definition, definition.canonical["tests"][0]).failures == ()
