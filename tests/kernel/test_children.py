"""Other workflows: children that are waited for, and those that live their own life."""

from engine.kernel.effects import CancelChild, StartChild
from engine.kernel.signals import CancelCase, ChildEnded
from tests.kernel.play import Case

PARENT = """
steps:
  - id: sub
    workflow: {name: review, input: {x: "${start.x}"}}
  - {id: after, set: {got: "${result.sub.answer}", how: "${result.sub.outcome}"}}
"""


def test_child_is_started_with_its_input_and_its_output_becomes_the_result() -> None:
    case = Case(PARENT, {"x": 5})
    (effect,) = case.last.effects
    assert isinstance(effect, StartChild)
    assert (effect.name, effect.input, effect.token) == ("review", {"x": 5}, case.wait_of("sub").token)
    case.send(ChildEnded(effect.token or 0, "completed", "FINE", {"answer": 42}, None, "child-1"))
    assert (case.status, case.state) == ("completed", {"got": 42, "how": "FINE"})


def test_failed_child_fails_the_step_with_the_same_error() -> None:
    case = Case(PARENT, {"x": 5})
    error = {"class": "business", "code": "nope", "message": "no"}
    case.send(ChildEnded(case.wait_of("sub").token, "failed", None, None, error, "child-1"))
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("failed", "nope")


def test_cancelled_child_is_a_business_error() -> None:
    case = Case(PARENT, {"x": 5})
    case.send(ChildEnded(case.wait_of("sub").token, "cancelled", None, None, None, "child-1"))
    assert case.last.error is not None
    assert (case.last.error.error_class, case.last.error.code) == ("business", "cancelled")


def test_withdrawing_the_step_cancels_the_child() -> None:
    case = Case(PARENT, {"x": 5})
    token = case.wait_of("sub").token
    case.send(CancelCase("x"))
    assert case.last.effects == (CancelChild(token),)


def test_continue_with_starts_another_and_goes_on() -> None:
    case = Case("steps: [{id: next, continue_with: {name: follow-up, input: {a: 1}}}, {set: {b: 1}}]")
    (effect,) = case.last.effects
    assert isinstance(effect, StartChild)
    assert (case.status, effect.token, effect.name, effect.input) == ("completed", None, "follow-up", {"a": 1})
