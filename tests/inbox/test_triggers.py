"""The start page offers only what people start, and says why it refuses the rest."""

import pytest

from engine.models import Instance
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import activated

HEADS = {"heard": "event: {name: order}", "nightly": "schedule: {cron: '@daily'}"}


@pytest.mark.parametrize("name", HEADS)
def test_what_begins_otherwise_is_neither_offered_nor_started(cast: Cast, browser: SignIn, name: str) -> None:
    head = f"workflow: {name}\ntitle: Begins otherwise\nstarters: {{min_level: 2}}\n{HEADS[name]}\n"
    activated(cast.actor("gwen"), f"{head}steps: [{{task: {{title: A}}}}]")
    uri = browser("uri")
    assert "Begins otherwise" not in uri.get("/inbox/start/").content.decode()
    assert uri.get(f"/inbox/start/{name}/").status_code == 409
    assert uri.post(f"/inbox/start/{name}/", {}).status_code == 409
    assert not Instance.objects.exists()
