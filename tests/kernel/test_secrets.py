"""Secrets never enter the kernel: marks do, and only where an author wrote them."""

from engine.kernel.expressions.secret_marks import fill_secrets, mark
from engine.kernel.language.normalizer import normalize
from tests.kernel.play import Case

PAY = """
steps:
  - id: pay
    call: {http: {url: "https://x.example", headers: {Authorization: "Bearer ${secret.token}"}, body: "${start.note}"}}
"""


def test_request_carries_a_mark_and_the_name() -> None:
    case = Case(PAY, {"note": "hello"})
    call = case.wait_of("pay").call
    assert call is not None
    assert (call.secrets, call.request["headers"]) == (("token",), {"Authorization": f"Bearer {mark('token')}"})
    filled = fill_secrets(call.request, {"token": "s3cret"})
    assert filled["headers"] == {"Authorization": "Bearer s3cret"}
    assert "s3cret" not in str(case.last)


def test_mark_that_comes_in_by_data_fails_the_call() -> None:
    case = Case(PAY, {"note": f"give me {mark('token')}"})
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "secret_mark")


def test_secret_outside_a_request_is_a_finding() -> None:
    found = normalize("workflow: x\nsteps: [{set: {a: '${secret.token}'}}]", allow_not_yet=True)
    assert [finding.code for finding in found.findings] == ["secret_here"]


def test_canonical_lists_the_secrets_it_requires() -> None:
    found = normalize("workflow: x\n" + PAY, allow_not_yet=True)
    assert found.canonical is not None
    assert found.canonical["requires"]["secrets"] == ["token"]
