"""What is written by functions made once is, byte by byte in meaning, what the framework's serializers write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from rest_framework.renderers import JSONRenderer

from engine.api import response_shapes, serializers
from engine.api.json_bodies import AnswerRenderer
from engine.api.serializers import Rows
from engine.models import Audit, Instance, Schedule, Secret, StepRun, Task, TemplateVersion, Wait
from engine.models.webhook import Webhook, WebhookDelivery
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.api.conftest import Callers
from tests.api.scene import set_whole_scene
from tests.cast import Cast
from tests.workflows import started

SHAPES: dict[type[Rows], type[Any]] = {
    serializers.TaskSerializer: Task,
    serializers.WaitSerializer: Wait,
    serializers.StepRunSerializer: StepRun,
    serializers.VersionSerializer: TemplateVersion,
    serializers.VersionLineSerializer: TemplateVersion,
    serializers.ScheduleSerializer: Schedule,
    serializers.HistorySerializer: Audit,
    serializers.AuditSerializer: Audit,
    serializers.SecretSerializer: Secret,
    response_shapes.WebhookSerializer: Webhook,
    response_shapes.DeliverySerializer: WebhookDelivery,
}


def as_json(rows: Iterable[Any]) -> Any:
    return json.loads(AnswerRenderer().render(list(rows)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_rows_are_written_as_their_serializer_says(cast: Cast, shape: type[Rows]) -> None:
    scene = set_whole_scene(cast)
    started(cast.actor("uri"), "approval", amount=1.5)
    claim_task(actor=cast.actor("ada"), task_id=scene.task)  # type: ignore[arg-type]
    complete_task(actor=cast.actor("ada"), task_id=scene.task, outcome="approve", values={"note": "ok"})  # type: ignore[arg-type]
    rows = list(SHAPES[shape].objects.all())
    framework = shape()
    told = [json.loads(JSONRenderer().render(framework.to_representation(row))) for row in rows]
    assert told
    assert as_json(shape.write_all(rows)) == told
    some = tuple(shape.names()[:3])
    assert as_json(shape.write_all(rows, some)) == [{name: row[name] for name in some} for row in told]


def test_lists_show_what_single_reads_show(call: Callers, cast: Cast) -> None:
    scene, gwen = set_whole_scene(cast), call("gwen")
    started(cast.actor("uri"), "approval", amount=7)
    for path in ("instances/", "tasks/", "tasks/?view=done", "tasks/?view=available"):
        for row in gwen.get(path).json()["results"]:
            assert gwen.get(f"{path.partition('?')[0]}{row['id']}/").json() == row
    assert Instance.objects.filter(pk=scene.instance).exists()


@pytest.mark.parametrize("path", ["instances/", "tasks/", "tasks/?view=available"])
def test_fields_choose_what_a_list_shows(call: Callers, cast: Cast, path: str) -> None:
    set_whole_scene(cast)
    ada, sign = call("ada"), "&" if "?" in path else "?"
    whole = ada.get(path).json()["results"]
    for fields in ("id", "status,id", "template,version", *whole[0]):
        rows = ada.get(f"{path}{sign}fields={fields}").json()["results"]
        assert rows == [{name: row[name] for name in row if name in fields.split(",")} for row in whole]
    refused = ada.get(f"{path}{sign}fields=id,nothing")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (400, "fields")
