"""A tenant in the middle of its work: templates in every status and one running case, for tests that only look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from engine.audit.chain import database_now
from engine.models import DeadLetter, Task
from engine.services.people.absences import enter_absence
from engine.services.schedules.lifecycle import create_schedule
from engine.services.templates.versions import save_draft
from engine.services.tenants.settings import put_calendar, put_secret
from engine.services.webhooks.subscriptions import create_webhook, ping_webhook
from tests.cast import Cast
from tests.workflows import APPROVAL, TWO_TASKS, activated, only_task, started
from workflowplatform.ids import uuid7

DRAFT = "workflow: idea\ntitle: Idea\nsteps:\n  - id: note\n    set: {noted: true}\n"


@dataclass(frozen=True, slots=True)
class Scene:
    """Ids that the routes need."""

    instance: str
    task: str
    schedule: str = ""
    letter: str = ""
    other: str = ""
    webhook: str = ""
    delivery: str = ""
    absence: str = ""

    def address(self, path: str) -> str:
        """Write the ids into a route."""
        return path.format(**{name: getattr(self, name) for name in self.__slots__})


def set_scene(cast: Cast) -> Scene:
    """Let Uri start an approval that Ada may take, and add a draft."""
    gwen = cast.actor("gwen")
    activated(gwen, APPROVAL)
    activated(gwen, TWO_TASKS)
    save_draft(actor=gwen, source=DRAFT)
    instance = started(cast.actor("uri"), "approval", amount=12)
    return Scene(str(instance.pk), str(only_task(instance).pk))


def set_whole_scene(cast: Cast) -> Scene:
    """Add a schedule, two dead letters, a secret, a calendar, and a webhook with a message on its way."""
    scene, gwen = set_scene(cast), cast.actor("gwen")
    put_secret(actor=gwen, name="api_key", value="hush-hush")
    put_calendar(actor=gwen, name="office", content={"hours": {"mon": ["09:00-17:00"]}})
    schedule = create_schedule(actor=cast.actor("ada"), template="approval", cron="0 9 * * *", input={"amount": 3})
    letters = [str(dead_letter(cast, scene.instance).pk) for _ in range(2)]
    webhook, _ = create_webhook(actor=gwen, url="https://hooks.example.com/in", events=["instance.started"])
    ping = ping_webhook(actor=gwen, webhook_id=webhook.pk)
    begin = database_now() + timedelta(days=30)
    absence = enter_absence(actor=gwen, person="ada", deputy=None, starts_at=begin, ends_at=begin + timedelta(days=2))
    return replace(
        scene,
        schedule=str(schedule.pk),
        letter=letters[0],
        absence=str(absence.pk),
        other=letters[1],
        webhook=str(webhook.pk),
        delivery=str(ping.pk),
    )


def dead_letter(cast: Cast, instance: str) -> DeadLetter:
    """Leave a dead letter, as a worker does that could not apply a signal."""
    now = database_now()
    envelope = {
        "id": str(uuid7()), "type": "TimerDue", "expected_version": None, "waiting_token": 99,
        "occurred_at": now.isoformat(), "payload": {},
    }  # fmt: skip
    return DeadLetter.objects.create(
        tenant_id=cast.acme.pk, instance_id=instance, envelope=envelope, reason="it broke", node="n1", at=now
    )


def open_task_ids() -> set[str]:
    """Return the ids of all open tasks of everybody."""
    return {str(pk) for pk in Task.objects.open().values_list("pk", flat=True)}
