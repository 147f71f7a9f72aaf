"""Validation at start-up: what does not fit this release is marked or stops the start; nothing new begins from it."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from engine import access
from engine.checks import check_settings
from engine.errors import Conflict
from engine.models import Audit, Instance, TemplateVersion
from engine.services.health import queue_facts
from engine.services.instances.events import accept_event
from engine.services.tasks.lifecycle import complete_task
from engine.services.templates import startup_validation
from engine.services.templates.startup_validation import Unfit, require_fit_to_serve, start_up, validate_active_versions
from tests.cast import Cast
from tests.workflows import APPROVAL, TIMER, activated, only_task, started
from workflowplatform.accounts.models import Role, Tenant

LISTENS = """
workflow: listens
title: Listens
trigger: event
event: {name: order}
steps:
  - id: look
    task: {title: Look, roles: [finance]}
"""

CALLS = """
workflow: calls
title: Calls
steps:
  - id: sub
    workflow: {name: approval, input: {amount: 3}}
"""


@pytest.fixture
def version(cast: Cast) -> TemplateVersion:
    """Return an active version whose role was deleted since."""
    version = activated(cast.actor("gwen"), APPROVAL)
    activated(cast.actor("gwen"), TIMER)
    return version


def lose_role() -> None:
    Role.objects.filter(tenant__name="acme", name="finance").update(name="treasury")


def find_role() -> None:
    Role.objects.filter(tenant__name="acme", name="treasury").update(name="finance")


def test_what_is_fit_stays_available(version: TemplateVersion) -> None:
    assert [verdict.why for verdict in validate_active_versions()] == ["", ""]
    start_up()
    version.refresh_from_db()
    assert version.unavailable == ""


def test_warn_marks_and_names_why_and_unmarks_what_is_mended(cast: Cast, version: TemplateVersion) -> None:
    lose_role()
    start_up()
    start_up()
    version.refresh_from_db()
    assert "finance" in version.unavailable
    with pytest.raises(Conflict, match="finance") as refused:
        started(cast.actor("ada"), "approval", amount=3)
    assert refused.value.code == "unfit"
    assert "approval" not in {one.template.name for one in access.startable_versions(cast.actor("ada"))}
    assert queue_facts()["unavailable"] == 1
    assert started(cast.actor("ada"), "timer").status == "running"
    find_role()
    start_up()
    assert started(cast.actor("ada"), "approval", amount=3).status == "running"
    acts = Audit.objects.filter(subject_id=version.template_id, action__startswith="mark_").order_by("seq")
    assert [(row.action, row.actor_name) for row in acts] == [
        ("mark_unavailable", "engine"),
        ("mark_available", "engine"),
    ]


def test_running_instances_of_an_unavailable_version_go_on(cast: Cast, version: TemplateVersion) -> None:
    task = only_task(started(cast.actor("uri"), "approval", amount=5))
    TemplateVersion.objects.filter(pk=version.pk).update(unavailable="it was not fit")
    answered = complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert answered.instance.status == "completed"


def test_neither_events_nor_parents_start_an_unavailable_version(cast: Cast, version: TemplateVersion) -> None:
    gwen = cast.actor("gwen")
    activated(gwen, LISTENS)
    activated(gwen, CALLS)
    TemplateVersion.objects.filter(template__name__in=["listens", "approval"]).update(unavailable="it was not fit")
    accept_event(actor=cast.actor("ada"), name="order", external_id="e-1", payload={})
    started(gwen, "calls")
    assert set(Instance.objects.values_list("template__name", flat=True)) == {"calls"}


def test_strict_refuses_to_start_with_a_sentence(cast: Cast, version: TemplateVersion, settings: Any) -> None:
    settings.WORKFLOW_STARTUP_VALIDATION = "strict"
    start_up()
    lose_role()
    with pytest.raises(Unfit, match=r"acme/approval 1 \(.*finance.*WORKFLOW_STARTUP_VALIDATION=warn"):
        start_up()
    with pytest.raises(CommandError, match="acme/approval 1"):
        call_command("worker", processes=1)


def test_a_strict_web_server_does_not_begin_to_serve(committed_cast: Cast, settings: Any) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    lose_role()
    require_fit_to_serve()
    settings.WORKFLOW_STARTUP_VALIDATION = "strict"
    with pytest.raises(Unfit):
        require_fit_to_serve()


def test_a_database_that_is_away_stops_only_a_strict_start(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError

    monkeypatch.setattr(startup_validation, "validate_active_versions", away)
    start_up()
    settings.WORKFLOW_STARTUP_VALIDATION = "strict"
    with pytest.raises(OperationalError):
        start_up()


def test_the_command_tells_and_its_code_says_whether_all_are_fit(version: TemplateVersion) -> None:
    out = io.StringIO()
    call_command("validate_templates", stdout=out)
    assert out.getvalue() == "2 active versions, 0 unavailable.\n"
    lose_role()
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("validate_templates", "--json", stdout=out)
    [row] = json.loads(out.getvalue())
    assert (row["tenant"], row["template"], row["version"]) == (Tenant.objects.get(name="acme").name, "approval", 1)


def test_a_wrong_setting_is_told_with_a_hint(settings: Any) -> None:
    assert check_settings() == []
    settings.WORKFLOW_STARTUP_VALIDATION = "maybe"
    [found] = check_settings()
    assert "strict, warn" in found.hint
