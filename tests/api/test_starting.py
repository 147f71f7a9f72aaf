"""What may be started over REST: the trigger decides, and refusals carry a code and say what to do."""

from tests.api.conftest import Callers
from tests.cast import Cast
from tests.workflows import activated

EVENT = "workflow: heard\nevent: {name: order}\nsteps: [{id: look, task: {title: Look}}]"
CLOCK = "workflow: nightly\nschedule: {cron: '@daily'}\nsteps: [{id: work, task: {title: Work}}]"


def test_trigger_decides_over_rest(cast: Cast, call: Callers) -> None:
    for source in (EVENT, CLOCK):
        activated(cast.actor("gwen"), source)
    gwen = call("gwen")
    for name in ("heard", "nightly"):
        refused = gwen.post("instances/", {"template": name, "input": {}})
        assert (refused.status_code, refused.json()["code"]) == (409, "trigger")
    scheduled = gwen.post("schedules/", {"template": "heard", "cron": "@daily"})
    assert (scheduled.status_code, scheduled.json()["code"]) == (409, "trigger")
    assert gwen.post("schedules/", {"template": "nightly", "cron": "@daily"}).status_code == 201
    heard = gwen.post("events/", {"name": "order", "id": "1", "payload": {}}).json()
    assert len(heard["started"]) == 1


def test_draft_only_template_is_refused_with_its_status(cast: Cast, call: Callers) -> None:
    assert call("gwen").post("templates/", {"source": "workflow: idea\nsteps: [{set: {a: 1}}]"}).status_code == 201
    refused = call("ada").post("instances/", {"template": "idea", "input": {}})
    assert (refused.status_code, refused.json()["code"]) == (409, "status")
    assert call("uri").post("instances/", {"template": "idea", "input": {}}).status_code == 404
    assert call("sam").post("instances/", {"template": "idea", "input": {}}).status_code == 404
