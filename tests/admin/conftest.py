"""Bring the cast on stage, and sign its people in to the admin."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from engine.models import Instance, Task, TemplateVersion
from engine.services.instances import start_instance
from engine.services.templates import activate_version, save_draft
from tests.cast import Cast, ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from workflowplatform.accounts.actor import Actor

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]

EXPENSE = """\
workflow: expense
title: Expense approval
input:
  type: object
  required: [amount]
  properties:
    amount: {type: number}
reference: {key: "${'EXP-' + string(start.amount)}"}
steps:
  - id: band
    set: {band: "${start.amount > 1000 ? 'high' : 'low'}"}
  - id: review
    task:
      title: Review the expense
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
"""

BREAKS = """
workflow: breaks
title: Breaks
input: {type: object, properties: {over: {type: integer}}}
steps:
  - id: halve
    set: {half: "${100 / start.over}"}
  - id: after
    set: {done: true}
"""

SignIn = Callable[[str], Client]


@pytest.fixture
def sign_in(cast: Cast) -> SignIn:
    """Give a browser in which somebody is signed in."""

    def signed_in(name: str) -> Client:
        client = Client()
        client.force_login(getattr(cast, name), backend="django.contrib.auth.backends.ModelBackend")
        return client

    return signed_in


@pytest.fixture
def expense(gwen: Actor) -> TemplateVersion:
    """Give Acme an active template."""
    save_draft(actor=gwen, source=EXPENSE)
    return activate_version(actor=gwen, name="expense", number=1)


@pytest.fixture
def case(ada: Actor, expense: TemplateVersion) -> Instance:
    """Give Acme an instance that waits for finance."""
    return start_instance(actor=ada, template="expense", input={"amount": 1200}).instance


@pytest.fixture
def task(case: Instance) -> Task:
    """Give the task that the instance waits for."""
    found: Task = case.tasks.get()  # type: ignore[attr-defined]
    return found


def words_of(response: Any) -> str:
    """Return a page as text."""
    return str(response.content.decode())
