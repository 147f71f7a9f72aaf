"""Retention over REST: the rules, the last run, what would go, and a run now."""

from __future__ import annotations

import pytest

from engine.dispatch.retention import Sweeper
from engine.models import Audit, Instance, RetentionRun
from engine.services.retention.purge import set_retention
from tests.api.conftest import Callers
from tests.cast import Cast
from tests.dispatch.test_retention import sweep
from tests.services.test_retention import ended
from tests.workflows import APPROVAL, activated


@pytest.fixture
def old(cast: Cast) -> Instance:
    activated(cast.actor("gwen"), APPROVAL)
    set_retention(actor=cast.actor("gwen"), completed_for="P10D")
    set_retention(actor=cast.actor("gwen"), template="approval", cancelled_for="P1D")
    return ended(cast, days=30)


def test_rules_last_run_and_preview_are_shown(call: Callers, old: Instance) -> None:
    shown = call("ada").get("retention/").json()
    assert [(rule["template"], rule["completed_for"], rule["cancelled_for"]) for rule in shown["rules"]] == [
        (None, "P10D", ""),
        ("approval", "", "P1D"),
    ]
    assert shown["preview"] == [{"template": "approval", "completed": 1, "cancelled": 0, "runtime": 0, "audit": 0}]
    assert shown["last_run"] is None
    assert call("stan").get("retention/").json() == {"rules": [], "last_run": None, "preview": []}
    assert call("uri").get("retention/").status_code == 403


def test_a_run_is_asked_for_and_done_by_the_workers(call: Callers, cast: Cast, old: Instance) -> None:
    gwen = call("gwen")
    asked = [gwen.post("retention/", {}, key="k") for _ in range(2)]
    assert [answer.status_code for answer in asked] == [202, 202]
    assert asked[0].json() == asked[1].json()
    assert (asked[0].json()["last_run"]["asked_by"], asked[0].json()["last_run"]["ended_at"]) == ("gwen", None)
    assert gwen.post("retention/").json()["last_run"]["id"] == asked[0].json()["last_run"]["id"]
    assert Audit.objects.filter(subject_id=cast.acme.pk, action="ask_retention").count() == 1
    sweep(Sweeper())
    shown = gwen.get("retention/").json()
    assert (shown["last_run"]["counts"], shown["last_run"]["error"], shown["preview"]) == ({"completed": 1}, "", [])
    assert shown["last_run"]["ended_at"]
    assert not Instance.objects.filter(pk=old.pk).exists()


def test_a_dry_run_begins_nothing(call: Callers, old: Instance) -> None:
    shown = call("gwen").post("retention/", {"dry_run": True}).json()
    assert (shown["preview"][0]["completed"], shown["last_run"]) == (1, None)
    assert not RetentionRun.objects.exists()


def test_a_run_takes_level_5_and_touches_nobody_else(call: Callers, cast: Cast, old: Instance) -> None:
    assert call("ada").post("retention/").status_code == 403
    assert call("sam").post("retention/").status_code == 202
    sweep(Sweeper())
    assert Instance.objects.filter(pk=old.pk).exists()
    assert RetentionRun.objects.get().tenant_id == cast.globex.pk
