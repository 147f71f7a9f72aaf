"""Decorators that the project registers run around durable steps, in stored tests and in simulations alike."""

import pytest

from engine.errors import Unprocessable
from engine.extensions import decorators
from engine.extensions.decorators import register_decorator
from engine.extensions.functions import AlreadyRegistered, BusinessError
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates.simulation import simulate_version
from engine.services.templates.versions import activate_version, save_draft
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

DECORATED = """\
workflow: decorated
steps:
  - id: ask
    input: {amount: "${start.amount}"}
    task: {title: "Pay ${state.amount} cents", form: {type: object, properties: {paid: {type: integer}}}}
    decorators: [in_cents]
  - set: {paid: "${result.ask.paid}"}
tests:
  - name: in cents and back
    start: {amount: 2}
    answers: {ask: {paid: 200}}
    expect: {status: completed, state: {paid: 2}}
"""


def _to_cents(given: dict[str, int]) -> dict[str, int]:
    return {**given, "amount": given["amount"] * 100}


def _from_cents(answer: dict[str, int]) -> dict[str, int]:
    if answer["paid"] < 0:
        raise BusinessError("below_zero", "nobody pays less than nothing")
    if answer["paid"] == 13:
        raise RuntimeError("a mistake of ours")
    return {**answer, "paid": answer["paid"] // 100}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register one decorator, for one test."""
    monkeypatch.setattr(decorators, "_registered", {})
    register_decorator("in_cents", before=_to_cents, after=_from_cents)


@pytest.mark.parametrize(
    ("paid", "status", "code"),
    [(500, "completed", None), (-1, "failed", "below_zero"), (13, "incident", "decorator_failed")],
)
def test_a_durable_step_is_decorated_and_a_refusal_is_its_error(
    gwen: Actor, paid: int, status: str, code: str | None
) -> None:
    activated(gwen, DECORATED)
    task = only_task(started(gwen, "decorated", amount=5))
    assert task.title == "Pay 500 cents"
    instance = complete_task(actor=gwen, task_id=task.pk, outcome="done", values={"paid": paid}).instance
    instance.refresh_from_db()
    assert instance.status == status
    assert (instance.error or {}).get("code") == code
    if status == "completed":
        assert instance.state == {"paid": 5}


def test_a_simulation_is_decorated_too(gwen: Actor) -> None:
    activated(gwen, DECORATED)
    test = {"start": {"amount": 3}, "answers": {"ask": {"paid": 300}}, "expect": {"state": {"paid": 3}}}
    assert simulate_version(actor=gwen, name="decorated", number=1, test=test).failures == ()


def test_a_name_that_nobody_registered_is_refused(gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=DECORATED.replace("[in_cents]", "[in_cent]"))
    assert [(found["code"], found["line"]) for found in draft.findings] == [("unknown_decorator", 6)]
    with pytest.raises(Unprocessable):
        activate_version(actor=gwen, name="decorated", number=draft.number)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(AlreadyRegistered):
        register_decorator("in_cents")
