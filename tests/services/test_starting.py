"""What may start an instance: the trigger decides on every way to start, and a refusal says what to do instead."""

import pytest
from django.db import connection

from engine import access
from engine.audit.chain import database_now
from engine.errors import Conflict, NotFound
from engine.models import Instance, Schedule, Task, TaskCandidate, TemplateVersion
from engine.services.instances.events import accept_event
from engine.services.instances.lifecycle import start_instance
from engine.services.schedules import changes as schedule_changes
from engine.services.schedules import lifecycle as schedules
from engine.services.schedules import runner as schedule_runner
from engine.services.templates.startup_validation import validate_active_versions
from engine.services.templates.versions import activate_version, archive_version, pause_version, save_draft
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.models import Role

EVENT = """
workflow: heard
starters: {min_level: 2}
event: {name: order}
steps: [{id: look, task: {title: Look}}]
"""
CLOCK = """
workflow: nightly
starters: {min_level: 2}
schedule: {cron: "0 2 * * *"}
steps: [{id: work, task: {title: Work}}]
"""
ON_DEMAND = "workflow: on-demand\ntrigger: scheduled\nsteps: [{id: work, task: {title: Work}}]"
PARENT = """
workflow: parent
steps:
  - {id: one, workflow: {name: heard}}
  - {id: two, continue_with: {name: nightly}}
"""
MANUAL = "workflow: by-hand\nsteps: [{id: work, task: {title: Work}}]"


@pytest.fixture
def all_ways(cast: Cast) -> Cast:
    for source in (EVENT, CLOCK, ON_DEMAND, MANUAL):
        activated(cast.actor("gwen"), source)
    return cast


@pytest.mark.parametrize("name", ["heard", "nightly", "on-demand"])
def test_nobody_starts_by_hand_what_begins_otherwise(all_ways: Cast, name: str) -> None:
    for number in (None, 1):
        with pytest.raises(Conflict) as refused:
            start_instance(actor=all_ways.actor("gwen"), template=name, input={}, version=number)
        assert refused.value.code == "trigger"
    assert not Instance.objects.exists()


def test_refusal_names_the_event_to_send(all_ways: Cast) -> None:
    with pytest.raises(Conflict, match="order"):
        started(all_ways.actor("uri"), "heard")


def test_what_begins_otherwise_is_not_offered_for_starting(all_ways: Cast) -> None:
    offered = {version.template.name for version in access.startable_versions(all_ways.actor("gwen"))}
    assert offered == {"by-hand"}
    assert not access.visible_templates(all_ways.actor("uri")).exists()


def test_only_the_event_starts_what_hears_it(all_ways: Cast) -> None:
    accepted = accept_event(actor=all_ways.actor("ada"), name="order", external_id="1", payload={})
    assert [one.template.name for one in Instance.objects.filter(pk__in=accepted.started)] == ["heard"]


def test_only_a_schedule_starts_what_is_scheduled(all_ways: Cast) -> None:
    ada, clock = all_ways.actor("ada"), Schedule.objects.get(declared=True)
    Schedule.objects.update(next_at=database_now(), look_at=database_now())
    assert schedule_runner.fire_due_slots(schedule_id=clock.pk) == 1
    Instance.objects.update(schedule_id=None)
    assert schedule_changes.run_schedule(actor=ada, schedule_id=clock.pk).status == "running"


@pytest.mark.parametrize("name", ["on-demand", "by-hand"])
def test_scheduled_and_manual_templates_take_schedules(all_ways: Cast, name: str) -> None:
    made = schedules.create_schedule(actor=all_ways.actor("ada"), template=name, once_at=database_now())
    assert schedule_runner.fire_due_slots(schedule_id=made.pk) == 1


def test_no_schedule_starts_what_an_event_starts(all_ways: Cast) -> None:
    with pytest.raises(Conflict) as refused:
        schedules.create_schedule(actor=all_ways.actor("ada"), template="heard", cron="@daily")
    assert refused.value.code == "trigger"


def test_schedules_end_when_only_an_event_starts_the_next_version(all_ways: Cast) -> None:
    gwen = all_ways.actor("gwen")
    made = schedules.create_schedule(actor=gwen, template="by-hand", cron="@daily")
    activated(gwen, MANUAL.replace("steps:", "event: {name: order}\nsteps:"))
    made.refresh_from_db()
    assert made.status == "cancelled"


def test_parent_starts_whatever_it_names(all_ways: Cast) -> None:
    gwen = all_ways.actor("gwen")
    activated(gwen, PARENT)
    started(gwen, "parent")
    assert Task.objects.get(step="look").instance.template.name == "heard"
    activated(gwen, PARENT.replace("- {id: one, workflow: {name: heard}}", ""))
    started(gwen, "parent")
    assert Instance.objects.filter(template__name="nightly").count() == 1


def as_before_the_rule(version: TemplateVersion, written: str) -> None:
    """Make a version what an earlier release activated."""
    source = version.source.replace("event:", f"{written}event:")
    canonical = {**(version.canonical or {}), "trigger": "manual"}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        TemplateVersion.objects.filter(pk=version.pk).update(source=source, canonical=canonical)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.mark.parametrize("written", ["", "trigger: manual\n"])
def test_version_activated_before_the_rule_goes_on(cast: Cast, written: str) -> None:
    version = activated(cast.actor("gwen"), EVENT.replace("heard", "older"))
    as_before_the_rule(version, written)
    assert [verdict.why for verdict in validate_active_versions()] == [""]
    assert accept_event(actor=cast.actor("ada"), name="order", external_id="1", payload={}).started
    assert started(cast.actor("uri"), "older").status == "running"


# what cannot be started now, and who hears why


def test_template_with_drafts_only_says_so(cast: Cast) -> None:
    save_draft(actor=cast.actor("gwen"), source=MANUAL)
    with pytest.raises(Conflict) as refused:
        started(cast.actor("ada"), "by-hand")
    assert (refused.value.code, refused.value.facts["status"]) == ("status", "draft")
    for name in ("uri", "sam"):
        with pytest.raises(NotFound):
            started(cast.actor(name), "by-hand")


def test_archived_template_says_so_to_whoever_might_start_it(cast: Cast) -> None:
    activated(cast.actor("gwen"), APPROVAL)
    archive_version(actor=cast.actor("gwen"), name="approval", number=1)
    for name in ("ada", "uri"):
        with pytest.raises(Conflict) as refused:
            started(cast.actor(name), "approval", amount=3)
        assert (refused.value.code, refused.value.facts["status"]) == ("status", "archived")
    with pytest.raises(NotFound):
        started(cast.actor("sam"), "approval", amount=3)


def test_archived_template_stays_unknown_to_who_never_might_start_it(cast: Cast) -> None:
    activated(cast.actor("gwen"), MANUAL)
    archive_version(actor=cast.actor("gwen"), name="by-hand", number=1)
    with pytest.raises(NotFound):
        started(cast.actor("uri"), "by-hand")
    with pytest.raises(Conflict):
        schedules.create_schedule(actor=cast.actor("ada"), template="by-hand", cron="@daily")


# what others start stays


def test_what_workflows_in_force_start_is_not_archived(cast: Cast) -> None:
    gwen = cast.actor("gwen")
    for source in (EVENT, CLOCK, PARENT):
        activated(gwen, source)
    for name in ("heard", "nightly"):
        with pytest.raises(Conflict) as refused:
            archive_version(actor=gwen, name=name, number=1)
        assert (refused.value.code, refused.value.facts["used_by"]) == ("in_use", ["parent"])
    pause_version(actor=gwen, name="parent", number=1)
    with pytest.raises(Conflict):
        archive_version(actor=gwen, name="heard", number=1)
    pause_version(actor=gwen, name="heard", number=1)
    activated(gwen, EVENT)
    archive_version(actor=gwen, name="parent", number=1)
    assert archive_version(actor=gwen, name="heard", number=2).status == "archived"


def test_only_its_own_tenant_and_others_keep_a_workflow_in_force(cast: Cast) -> None:
    gwen, sam = cast.actor("gwen"), cast.actor("sam")
    for source in (EVENT, CLOCK, PARENT):
        activated(sam, source)
    activated(gwen, EVENT)
    again = "workflow: again\nsteps: [{id: a, task: {title: A}}, {id: b, continue_with: {name: again}}]"
    activated(gwen, again)
    for name in ("heard", "again"):
        assert archive_version(actor=gwen, name=name, number=1).status == "archived"


def test_activating_a_parent_and_archiving_its_child_at_once_never_leaves_it_without(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    for _ in range(3):
        child = activated(gwen, EVENT)
        activated(gwen, CLOCK)
        parent = save_draft(actor=gwen, source=PARENT)
        acts = [
            lambda number=child.number: archive_version(actor=gwen, name="heard", number=number),
            lambda number=parent.number: activate_version(actor=gwen, name="parent", number=number),
        ]
        done = [one for one in at_once(acts) if isinstance(one, TemplateVersion)]
        assert len(done) == 1
        if done[0].template.name == "parent":
            archive_version(actor=gwen, name="parent", number=parent.number)


# whose a task is


def test_task_that_names_nobody_is_offered_to_the_roles_of_the_head(cast: Cast) -> None:
    activated(cast.actor("gwen"), "workflow: whose\nroles: [finance]\nsteps: [{id: a, task: {title: A}}]")
    task = only_task(started(cast.actor("gwen"), "whose"))
    finance = Role.objects.get(tenant__name="acme", name="finance")
    assert [one.principal for one in TaskCandidate.objects.filter(task=task)] == [finance.pk]
    assert not access.refuse_act(cast.actor("ada"), task)
    assert access.refuse_act(cast.actor("adam"), task)
