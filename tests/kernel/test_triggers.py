"""Events that start a case, and steps that are slowed down."""

from datetime import timedelta

import pytest

from engine.kernel.errors import StepError
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.interpreter.triggers import event_start
from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.kernel.signals import InstanceFacts, Lent, Started, TimerDue
from tests.kernel.play import MONDAY, compiled

EVENT = """
trigger: event
event: {name: paid, when: start.amount > 10, key: "${start.id}", reference: "${'P-' + start.id}"}
steps: [{id: t, task: {title: T}}]
"""


def test_event_starts_what_it_names_when_its_condition_holds() -> None:
    definition = compiled(EVENT)
    found = event_start(definition, "paid", {"amount": 11, "id": "7"}, MONDAY)
    assert found is not None
    assert (found.input, found.reference, found.key) == ({"amount": 11, "id": "7"}, "P-7", "7")
    assert event_start(definition, "paid", {"amount": 1, "id": "7"}, MONDAY) is None
    assert event_start(definition, "other", {"amount": 11, "id": "7"}, MONDAY) is None
    with pytest.raises(StepError):
        event_start(definition, "paid", {}, MONDAY)


@pytest.mark.parametrize(
    ("head", "trigger"),
    [
        ("", "manual"),
        ("event: {name: paid}", "event"),
        ("schedule: {cron: '@daily'}", "scheduled"),
        ("trigger: scheduled", "scheduled"),
    ],
)
def test_trigger_that_is_left_away_follows_from_event_and_schedule(head: str, trigger: str) -> None:
    assert compiled(f"{head}\nsteps: [{{set: {{a: 1}}}}]").canonical["trigger"] == trigger


HEAD_ROLES = """
roles: [finance]
steps:
  - {id: nobodys, task: {title: A}}
  - {id: own, task: {title: B, roles: [board]}}
  - {id: named, task: {title: C, users: [ann]}}
  - {id: bound, task: {title: D, assignee: "${start.who}"}}
  - {id: everybodys, task: {title: E, roles: []}}
  - id: deep
    call: {python: f}
    on_error: [{steps: [{id: mend, task: {title: F}}]}]
"""


def test_roles_of_the_head_are_those_of_tasks_that_name_nobody() -> None:
    steps = compiled(HEAD_ROLES).steps
    roles = {name: steps[name].raw["task"].get("roles") for name in ("nobodys", "own", "named", "bound", "everybodys")}
    assert roles == {"nobodys": ["finance"], "own": ["board"], "named": None, "bound": None, "everybodys": []}
    assert steps["mend"].raw["task"]["roles"] == ["finance"]


def test_roles_of_the_head_are_required_of_the_tenant() -> None:
    source = "workflow: x\nroles: [finanse]\nsteps: [{task: {title: A}}]"
    assert [(one.code, one.line) for one in normalize(source, TenantFacts(roles=frozenset({"finance"}))).findings] == [
        ("unknown_role", 2)
    ]


def test_rated_step_comes_again_later_and_never_blocks() -> None:
    definition = compiled("steps: [{id: c, call: {python: f}, rate_limit: {key: bank, limit: 1, per: PT1M}}]")
    asked = []

    def admit(key: str, limit: int, seconds: float):  # type: ignore[no-untyped-def]
        asked.append((key, limit, seconds))
        return MONDAY + timedelta(seconds=30) if len(asked) == 1 else None

    facts = InstanceFacts("i", "tried", 1, None, MONDAY)
    first = advance(definition, None, facts, [Started({})], Lent(MONDAY, admit=admit))
    (wait,) = first.opened
    assert (wait.kind.value, wait.due_at) == ("timer", MONDAY + timedelta(seconds=30))
    second = advance(definition, first.snapshot, facts, [TimerDue(wait.token)], Lent(MONDAY, admit=admit))
    assert [one.kind.value for one in second.opened] == ["call"]
    assert asked == [("bank", 1, 60.0)] * 2
