"""Small cases for short journeys: one task for Ada or Adam, started behind the scenes over REST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

SOURCE = """\
workflow: errand
title: Errand
starters: {min_level: 2}
input:
  type: object
  required: [what]
  properties:
    what: {type: string, title: What to do}
steps:
  - id: run
    title: Run the errand
    task:
      title: "${start.what}"
      users: [ada, adam]
      outcomes: {done: {title: Done}, refused: {title: Refuse, reject: true}}
      comment: on_reject
      form:
        type: object
        required: [amount]
        properties:
          amount: {type: number, title: Amount, maximum: 100}
          note: {type: string, title: Note}
"""


@dataclass(frozen=True, slots=True)
class Errands:
    """Start errands as one person."""

    page: Page

    def run(self, what: str) -> str:
        """Start an errand and answer the address of its task."""
        started = send(self.page, "instances/", {"template": "errand", "input": {"what": what}})
        return f"/inbox/tasks/{started['tasks'][0]['id']}/"


def activate(page: Page, source: str = SOURCE) -> None:
    """Save and activate a template as the page's person."""
    draft = send(page, "templates/", {"source": source})
    assert [finding for finding in draft["findings"] if finding["severity"] == "error"] == []
    send(page, f"templates/{draft['name']}/versions/{draft['version']}/activate/", {})


def send(page: Page, route: str, body: dict[str, Any]) -> dict[str, Any]:
    """Post to REST with the session of the page's person."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    answer = page.context.request.post(f"/api/v1/{route}", data=body, headers={"X-CSRFToken": token})
    assert answer.ok, f"{answer.status} {answer.text()}"
    return answer.json()
