"""Bring the cast on stage, and a browser without JavaScript for each."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.cast import Cast, ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from tests.workflows import activated

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]

REVIEW = """
workflow: review
title: Expense review
description: Get your money back.
tags: [finance]
starters: {min_level: 2}
input:
  type: object
  required: [what, amount]
  properties:
    what: {type: string, title: What for}
    amount: {type: number, title: Amount, exclusiveMinimum: 0}
    paid_on: {type: string, format: date, title: Paid on}
reference: {key: "${'EXP-' + start.what}"}
state: {band: low}
steps:
  - id: review
    title: Finance review
    task:
      title: "Review ${start.what}"
      instructions: Look at the receipts.
      roles: [finance]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      comment: on_reject
      not_same_as: [start]
      payload: {amount: "${start.amount}", what: "${start.what}"}
      form:
        type: object
        required: [note]
        properties:
          note: {type: string, title: Note}
          granted: {type: number, title: Granted, maximum: 100}
  - id: high
    set: {band: high}
  - id: thank
    task: {title: Thank the employee, assignee: "${result.review.by}", comment: never}
"""

OWN = """
workflow: own
title: My own
starters: {min_level: 2}
steps:
  - id: fill
    task: {title: Fill it in, assignee: "${instance.started_by}", min_level: 2, comment: never}
"""

GODS_ONLY = """
workflow: gods-only
title: Gods only
starters: {min_level: 5}
steps:
  - id: look
    task: {title: Look}
"""

SignIn = Callable[[str], Client]


@pytest.fixture
def browser(cast: Cast) -> SignIn:
    """Return a signed-in client for a person by name."""

    def sign_in(name: str) -> Client:
        client = Client()
        client.force_login(getattr(cast, name))
        return client

    return sign_in


@pytest.fixture
def review(cast: Cast) -> str:
    """Activate the workflow that most tests walk through."""
    return activated(cast.actor("gwen"), REVIEW).template.name


BOARD = """
workflow: board
title: Board
starters: {min_level: 2}
input: {type: object, properties: {subject: {type: string}}}
reference: {key: "${'RES-' + start.subject}"}
steps:
  - id: prepare
    task:
      title: "Prepare ${start.subject}"
      roles: [finance, management]
      checklist: [The numbers are checked, {id: legal, title: Legal has seen it, required: false}]
      attachments: {types: [pdf, txt], max_size: 1KB, max: 1}
      form: {type: object, properties: {size: {type: number, title: Size, default: 3}}}
  - id: vote
    task:
      title: "Vote on ${start.subject}"
      roles: [finance, management]
      outcomes: {agree: {title: Agree}, object: {title: Object, reject: true}}
      complete_when: done >= 2
      comment: never
  - id: file_it
    task: {title: "File ${start.subject}", roles: [finance, management], allow: [skip], draft: false}
"""


@pytest.fixture
def board(cast: Cast) -> str:
    """Activate the workflow whose tasks have all that a task can have."""
    return activated(cast.actor("gwen"), BOARD).template.name
