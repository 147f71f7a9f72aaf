"""The gate of activation: a template's own tests are played, and a red one keeps it from being activated."""

import re

import pytest

from engine.errors import Unprocessable
from engine.kernel.findings import Finding
from engine.models import BusinessCalendar, TemplateVersion
from engine.services.templates.simulation import simulate_version
from engine.services.templates.stored_tests import MOST_STEPS
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor

TESTED = """\
workflow: greet
steps:
  - id: ask
    task: {title: Greet, outcomes: [hello, bye]}
  - complete: "${upper(result.ask.outcome)}"
tests:
  - name: a friendly word
    answers: {ask: {outcome: hello}}
    expect: {status: completed, outcome: HELLO}
  - name: a last word
    answers: {ask: {outcome: bye}}
    expect: {status: completed, outcome: BYE}
"""

PARENT = """\
workflow: visit
steps:
  - {id: at_the_door, workflow: {name: greet}}
  - complete: "${result.at_the_door.outcome}"
tests:
  - name: the child is the real one
    answers: {at_the_door/ask: {outcome: bye}}
    expect: {outcome: BYE, started: {greet: 1}}
"""


def activate(actor: Actor, source: str) -> TemplateVersion:
    draft = save_draft(actor=actor, source=source)
    return activate_version(actor=actor, name=draft.template.name, number=draft.number)


def refused(actor: Actor, source: str) -> list[Finding]:
    with pytest.raises(Unprocessable) as refusal:
        activate(actor, source)
    assert not TemplateVersion.objects.active().exists()
    return list(refusal.value.findings)


def test_green_tests_let_a_template_in(gwen: Actor) -> None:
    assert activate(gwen, TESTED).status == "active"


def test_a_red_test_stops_the_activation_with_its_name_line_and_first_failure(gwen: Actor) -> None:
    (found,) = refused(gwen, TESTED.replace("outcome: BYE", "outcome: HELLO"))
    assert (found.code, found.severity, found.line) == ("test_failed", "error", 10)
    assert "a last word" in found.message
    assert "BYE" in found.message
    assert "HELLO" in found.message


def test_every_red_test_is_told(gwen: Actor) -> None:
    found = refused(gwen, TESTED.replace("status: completed", "status: failed"))
    assert [finding.line for finding in found] == [7, 10]


def test_a_draft_may_hold_red_tests_while_it_is_written(gwen: Actor) -> None:
    assert save_draft(actor=gwen, source=TESTED.replace("outcome: BYE", "outcome: HELLO")).findings == []


@pytest.mark.parametrize("test", ["nonsense", "{at: never}", "{do: 7}", "{people: 3}", "{expect: 3}"])
def test_a_test_that_cannot_be_played_is_red_and_no_traceback(gwen: Actor, test: str) -> None:
    source = TESTED[: TESTED.index("tests:")] + f"tests: [{test}]\n"
    assert [finding.code for finding in refused(gwen, source)] == ["test_failed"]


MISSPELT = """\
workflow: misspelt
steps: [{id: look, task: {title: Look}}]
tests:
  - name: slips
    peple: {ann: {}}
    do:
      - {complete: lok}
      - {fly: away}
    expect: {status: completed}
"""


def test_misspelt_words_are_findings_at_their_own_places_with_what_may_be_meant(gwen: Actor) -> None:
    found = refused(gwen, MISSPELT)
    assert [(one.code, one.line, one.column) for one in found] == [
        ("test_misspelt", 5, 5),
        ("test_misspelt", 7, 20),
        ("test_misspelt", 8, 10),
    ]
    assert [re.findall("`(.*?)`", one.hint) for one in found] == [["people"], ["look"], []]
    assert "slips" in found[0].message


def test_children_are_the_tenants_active_workflows(gwen: Actor) -> None:
    activate(gwen, TESTED)
    assert activate(gwen, PARENT).status == "active"
    worse = save_draft(actor=gwen, source=PARENT.replace("outcome: BYE", "outcome: HELLO"))
    with pytest.raises(Unprocessable):
        activate_version(actor=gwen, name="visit", number=worse.number)


ENDLESS = """\
workflow: endless
steps:
  - id: rounds
    repeat:
      times: 1000
      steps: [{repeat: {times: 1000, steps: [{set: {n: 1}}]}}]
tests:
  - name: a million rounds
    expect: {status: completed}
"""


def test_a_test_over_its_budget_stops_the_activation_with_a_finding_of_its_own(gwen: Actor) -> None:
    (found,) = refused(gwen, ENDLESS)
    assert (found.code, found.line) == ("test_too_long", 8)
    assert f"{MOST_STEPS:,}" in found.message


BY_CALENDAR = """\
workflow: patient
steps:
  - {id: nap, wait: {for: PT10H, calendar: office}}
  - set: {woke: "${string(now)}"}
tests:
  - {name: over night, expect: {status: completed, state: {woke: "2030-01-08T11:00:00Z"}}}
"""


def test_stored_tests_and_simulations_know_the_tenants_calendars(gwen: Actor) -> None:
    hours = {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}
    content = {"timezone": "UTC", "hours": hours}
    BusinessCalendar.objects.create(tenant_id=gwen.tenant_id, name="office", content=content)
    assert activate(gwen, BY_CALENDAR).status == "active"
    report = simulate_version(actor=gwen, name="patient", number=1, test={"expect": {"status": "completed"}})
    assert report.failures == ()
