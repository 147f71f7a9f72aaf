"""Business calendars and schedules, as authors name them."""

from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.kernel.language.step_lists import calendars_named
from engine.kernel.signals import InstanceFacts, Lent, Started
from engine.kernel.timing.calendars import Calendar
from tests.kernel.play import MONDAY, compiled

OFFICE = Calendar.from_json({"timezone": "UTC", "hours": {"mon-fri": ["09:00-17:00"]}})


def first_wait(source: str):  # type: ignore[no-untyped-def]
    facts = InstanceFacts("i", "tried", 1, None, MONDAY)
    lent = Lent(MONDAY, calendar={"office": OFFICE}.get)
    return advance(compiled(source), None, facts, [Started({})], lent)


def test_wait_counts_open_hours_only() -> None:
    (wait,) = first_wait("steps: [{id: w, wait: {for: PT10H, calendar: office}}]").opened
    assert wait.due_at is not None
    assert wait.due_at.isoformat() == "2030-01-08T11:00:00+00:00"


def test_due_date_of_a_task_counts_business_days() -> None:
    (wait,) = first_wait("calendar: office\nsteps: [{id: t, task: {title: T, due: P5D}}]").opened
    assert wait.task is not None
    assert wait.task.due_at is not None
    assert wait.task.due_at.isoformat() == "2030-01-14T09:00:00+00:00"


def test_reminders_and_escalations_of_a_task_count_business_days() -> None:
    times = "remind: P1D, escalate: [{after: P5D, priority: high}], sla: PT10H"
    found = first_wait(f"calendar: office\nsteps: [{{id: t, task: {{title: T, {times}}}}}]").opened
    assert sorted(wait.due_at.isoformat()[:16] for wait in found if wait.due_at) == [
        "2030-01-08T09:00",
        "2030-01-08T11:00",
        "2030-01-14T09:00",
    ]


def test_calendar_that_is_not_there_is_the_steps_error() -> None:
    found = first_wait("steps: [{id: w, wait: {for: PT10H, calendar: moon}}]")
    assert found.error is not None
    assert found.error.code == "no_calendar"


def test_unknown_calendar_and_bad_cron_are_findings_at_their_lines() -> None:
    schedule = "  cron: 99 * * * *\n  timezone: Mars/Base\n  calendar: moon\n"
    source = f"workflow: x\ntrigger: scheduled\nschedule:\n{schedule}steps: [{{set: {{a: 1}}}}]"
    found = normalize(source, TenantFacts(), allow_not_yet=True)
    assert [one.line for one in found.findings] == [4, 5, 6]
    assert found.findings[2].code == "unknown_calendar"


EVERYWHERE = """
workflow: everywhere
calendar: head
trigger: scheduled
schedule: {cron: "0 9 * * 1", calendar: clock}
on:
  - signal: hurry
    steps: [{wait: {for: PT1H, calendar: handler}}]
steps:
  - if: "true"
    then: [{wait: {for: PT1H, calendar: choice}}]
  - parallel:
      branches:
        - name: left
          steps: [{task: {title: Look, roles: [finance], calendar: branch}}]
        - name: right
          steps: [{set: {calendar: business state}}]
  - task:
      title: Look again
      roles: [finance]
      escalate: [{after: PT1H, steps: [{wait: {for: PT1H, calendar: escalation}}]}]
"""


def test_every_calendar_by_which_a_definition_counts_is_named_and_no_business_state() -> None:
    found = normalize(EVERYWHERE)
    assert found.canonical is not None, found.findings
    assert calendars_named(found.canonical) == {"head", "clock", "handler", "choice", "branch", "escalation"}
