"""Decorators wrap a body: they change its input before each attempt, and its result after a success."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.kernel.errors import business_error
from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.kernel.machine.decorators import Decorator
from tests.kernel.play import Case

IN_CENTS = Decorator(
    before=lambda given: {**given, "amount": given["amount"] * 100},
    after=lambda found: {**found, "paid": found["paid"] / 100},
)
MARKED = Decorator(
    before=lambda given: {**given, "trail": [*given.get("trail", []), "before"]}, after=lambda found: [found]
)


def _named(name: str) -> Decorator:
    return Decorator(
        before=lambda given: {**given, "order": given.get("order", "") + name},
        after=lambda found: f"{found}{name}",
    )


class Lending(Case):
    """A case that is lent decorators."""

    decorators: Mapping[str, Decorator] = {"in_cents": IN_CENTS, "marked": MARKED, "a": _named("a"), "b": _named("b")}


PAY = """
steps:
  - id: pay
    call: {python: {function: pay, args: {amount: "${state.amount}"}}}
    input: {amount: "${start.amount}"}
    retry: {attempts: 3, delay: PT1M}
    decorators: [in_cents]
  - set: {seen: "${result.pay.paid}"}
"""


def _amount(case: Case) -> Any:
    call = case.wait_of("pay", "call").call
    assert call is not None
    return call.request["args"]["amount"]


def test_body_sees_the_changed_input_and_the_case_the_changed_result() -> None:
    case = Lending(PAY, {"amount": 12})
    assert _amount(case) == 1200
    case.answer("pay", {"paid": 1200})
    assert (case.status, case.state, case.results) == ("completed", {"seen": 12.0}, {"pay": {"paid": 12.0}})


def test_every_attempt_begins_with_what_the_step_was_given() -> None:
    case = Lending(PAY, {"amount": 12})
    for _ in range(2):
        case.refuse("pay")
        case.advance("PT1M")
        assert _amount(case) == 1200


def test_first_named_stands_outermost() -> None:
    source = 'steps: [{id: x, call: {python: {function: f, args: {o: "${state.order}"}}}, decorators: [a, b]}]'
    case = Lending(source)
    call = case.wait_of("x", "call").call
    assert call is not None
    assert call.request["args"] == {"o": "ab"}
    case.answer("x", "-")
    assert case.results == {"x": "-ba"}


def test_output_reads_what_the_decorators_made_of_the_result() -> None:
    source = 'steps: [{id: x, call: {python: f}, decorators: [marked], output: {n: "${result.x[0] + 1}"}}]'
    case = Lending(source)
    case.answer("x", 4)
    assert case.results == {"x": {"n": 5}}


def test_writes_of_a_step_without_values_of_its_own_still_reach_the_case() -> None:
    Lending.decorators = {**Lending.decorators, "quiet": Decorator(before=lambda given: given)}
    case = Lending("steps: [{id: s, group: [{set: {x: 1}}], decorators: quiet}]")
    assert case.state == {"x": 1}


def _refusing(_value: Any) -> Any:
    raise business_error("too_much", "it is too much")


@pytest.mark.parametrize(
    ("decorator", "status", "code"),
    [
        (Decorator(before=_refusing), "failed", "too_much"),
        (Decorator(after=_refusing), "failed", "too_much"),
        (Decorator(before=lambda given: [given]), "incident", "bad_decorator"),
        (Decorator(after=lambda found: float("nan")), "incident", "bad_decorator"),
        (Decorator(after=lambda found: object()), "incident", "bad_decorator"),
    ],
)
def test_decorator_that_refuses_or_spoils_fails_its_own_step(decorator: Decorator, status: str, code: str) -> None:
    Lending.decorators = {"odd": decorator}
    case = Lending("steps: [{id: x, call: {python: f}, decorators: odd}]")
    if case.waits:
        case.answer("x", 1)
    assert case.last.error is not None
    assert (case.status, case.last.error.code, case.last.error.step) == (status, code, "x")


def test_refusal_of_a_result_counts_as_an_attempt_and_is_tried_again() -> None:
    answers = iter([business_error("not_yet", "wait a little"), None])

    def after(found: Any) -> Any:
        problem = next(answers)
        if problem is not None:
            raise problem
        return found

    Lending.decorators = {"picky": Decorator(after=after)}
    case = Lending("steps: [{id: x, call: {python: f}, retry: {attempts: 2, on: [business]}, decorators: picky}]")
    case.answer("x", 1)
    case.advance("PT1S")
    case.answer("x", 2)
    assert (case.status, case.results) == ("completed", {"x": 2})


def test_case_in_a_house_without_the_decorator_is_an_incident_that_can_be_mended() -> None:
    case = Case("steps: [{id: x, set: {a: 1}, decorators: unknown}]")
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "no_decorator")


def test_template_lists_its_decorators_and_the_tenant_may_lack_them() -> None:
    source = "workflow: x\nsteps:\n  - {set: {a: 1}, decorators: [masket, timed]}"
    found = normalize(source, TenantFacts(decorators=frozenset({"masked", "timed"})))
    assert [(one.code, one.line, one.hint) for one in found.findings] == [
        ("unknown_decorator", 3, "did you mean `masked`?")
    ]
    open_ended = normalize(source).canonical
    assert open_ended is not None
    assert open_ended["requires"]["decorators"] == ["masket", "timed"]
    without = normalize("workflow: x\nsteps: [{set: {a: 1}}]").canonical
    assert without is not None
    assert "decorators" not in without["requires"]
