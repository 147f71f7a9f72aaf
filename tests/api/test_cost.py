"""What acts over REST cost the database, counted in statements: the act's own, and few beside it."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.statements import counted
from tests.api.conftest import Caller, caller_of
from tests.cast import Cast
from tests.workflows import APPROVAL, activated

MOST = {"start": 6, "claim": 4, "complete": 5}
"""The token with its person, the roles, one that holds and reads, one that writes, and what the answer shows beside."""
KEYED = 3
"""Twins wait for each other, was it asked before, the answer kept."""


def statements(caller: Caller, path: str, body: Any, key: str | None) -> tuple[int, Any]:
    with counted() as sent:
        answer = caller.post(path, body, key=key)
    assert answer.status_code in {200, 201}
    return len(sent), answer.json()


@pytest.mark.parametrize("key", [None, "once"])
def test_acts_cost_their_own_statements_and_few_beside(committed_cast: Cast, key: str | None) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    uri, ada = caller_of("uri"), caller_of("ada")
    body = {"template": "approval", "input": {"amount": 12}}
    for warmed in (uri, ada):
        warmed.get("tasks/")
    uri.post("instances/", body)
    cost = {}
    cost["start"], begun = statements(uri, "instances/", body, key)
    task = ada.get(f"tasks/?instance={begun['id']}").json()["results"][0]["id"]
    cost["claim"], _ = statements(ada, f"tasks/{task}/claim/", {}, key)
    answer = {"outcome": "approve", "values": {"note": "ok"}}
    cost["complete"], _ = statements(ada, f"tasks/{task}/complete/", answer, key)
    assert cost == {act: count + (KEYED if key else 0) for act, count in MOST.items()}
