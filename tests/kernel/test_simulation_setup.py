"""What a simulation borrows: calendars, decorators, turns under a rate limit, and a budget with a clear end."""

from textwrap import dedent
from typing import Any

import pytest

from engine.kernel.machine.decorators import Decorator
from engine.kernel.simulator import SimulationSetup, run_test
from engine.kernel.timing.calendars import Calendar
from tests.kernel.play import compiled

OFFICE = {"timezone": "UTC", "hours": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}}
WAITING = 'steps: [{id: nap, wait: {for: PT10H, calendar: office}}, {set: {woke: "${string(now)}"}}]'


def test_lent_calendar_counts_business_time() -> None:
    setup = SimulationSetup(calendar={"office": Calendar.from_json(OFFICE)}.get)
    report = run_test(compiled(WAITING), {"expect": {"state": {"woke": "2030-01-08T11:00:00Z"}}}, None, setup)
    assert report.failures == ()


def test_calendar_of_the_test_itself_comes_before_the_lent_one() -> None:
    setup = SimulationSetup(calendar={"office": Calendar.from_json({**OFFICE, "holidays": ["2030-01-08"]})}.get)
    test = {"calendars": {"office": OFFICE}, "expect": {"state": {"woke": "2030-01-08T11:00:00Z"}}}
    assert run_test(compiled(WAITING), test, None, setup).failures == ()


def test_calendar_that_nobody_has_is_an_incident_and_a_bad_one_is_told() -> None:
    assert run_test(compiled(WAITING), {"expect": {"error": {"code": "no_calendar"}}}).failures == ()
    report = run_test(compiled(WAITING), {"calendars": {"office": {"hours": 7}}})
    assert "cannot be played" in report.failures[0]


def test_decorator_runs_in_a_simulation_as_in_a_case() -> None:
    setup = SimulationSetup(decorator={"loud": Decorator(after=lambda found: found.upper())}.get)
    definition = compiled("steps: [{id: say, call: {python: f}, decorators: loud}]")
    test = {"calls": {"say": {"result": "hello"}}, "expect": {"results": {"say": "HELLO"}}}
    assert run_test(definition, test, None, setup).failures == ()


def test_rated_steps_take_turns_under_the_clock_of_the_simulation() -> None:
    source = """
    steps:
      - for_each:
          each: [1, 2, 3]
          steps: [{id: say, call: {python: f}, rate_limit: {key: k, limit: 2, per: PT1M}}]
    """
    now, later = ({"calls": {"say": count}} for count in (2, 3))
    test = {"do": [{"expect": now}, {"advance": "PT29S"}, {"expect": now}, {"advance": "PT1S"}, {"expect": later}]}
    assert run_test(compiled(source), test).failures == ()


def test_event_starts_only_the_workflow_whose_condition_holds() -> None:
    other = compiled("workflow: heard\ntrigger: event\nevent: {name: told, when: start.n > 1}\nsteps: [{set: {x: 1}}]")
    source = "steps: [{emit: {event: told, payload: {n: %s}}}]"
    for n, started in ((1, {}), (2, {"heard": 1})):
        report = run_test(compiled(source % n), {"expect": {"started": started}}, {"heard": other})
        assert report.failures == ()


LONG = {
    "a long loop": ("repeat: {times: 900, steps: [{set: {a: 1}}, {set: {a: 2}}]}", {}, "more than 1,000 steps"),
    "many timers": ("task: {title: A}\n    reminders: [{every: PT1S, steps: []}]", {"do": [{"advance": "P2D"}]}, "timers"),
    "a loop of answers": (
        "repeat: {times: 1000, steps: [{wait: {for: PT1S}}, {wait: {for: PT1S}}]}", {}, "more than 1,000 steps",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_simulation_over_its_budget_ends_and_says_so(name: str) -> None:
    step, test, why = LONG[name]
    setup = SimulationSetup(most_steps=1_000)
    report = run_test(compiled(dedent(f"steps:\n  - {step}\n")), test, None, setup)
    assert report.over_budget
    assert why in report.failures[0]


def test_simulation_ends_when_it_is_told_to_stop() -> None:
    asked: list[Any] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 50

    definition = compiled("steps: [{repeat: {times: 900, steps: [{set: {a: 1}}]}}]")
    report = run_test(definition, {}, None, SimulationSetup(stop=stop))
    assert (report.over_budget, report.failures) == (True, ("the test is too long: it takes too much time",))


def test_reminder_missed_ten_thousand_times_is_made_up_by_one_run_without_counting_them_out() -> None:
    source = """
    state: {n: 0}
    steps:
      - {id: ask, task: {title: A}, reminders: [{every: PT1S, steps: [{set: {n: "${state.n + 1}"}}]}]}
    """
    test = {"do": [{"outage": "P1D"}, {"advance": "PT5S"}], "expect": {"state": {"n": 1}, "tasks": ["ask"]}}
    assert run_test(compiled(source), test).failures == ()


def test_every_month_from_the_last_day_of_one_is_the_last_day_of_the_others() -> None:
    source = """
    state: {at: []}
    steps:
      - id: ask
        task: {title: A}
        reminders: [{every: P1M, times: 3, steps: [{set: {at: "${concat(state.at, [string(now)])}"}}]}]
    """
    rung = ["2030-02-28T09:00:00Z", "2030-03-31T09:00:00Z", "2030-04-30T09:00:00Z"]
    test = {"at": "2030-01-31T09:00:00Z", "do": [{"advance": "P1Y"}], "expect": {"state": {"at": rung}}}
    assert run_test(compiled(source), test).failures == ()
