"""A person of another tenant gets the same 404 for what is ours as for what never was."""

from uuid import UUID

import pytest

from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started

NOBODYS = UUID("01900000-0000-7000-8000-000000000000")


@pytest.mark.parametrize("name", ["sam", "stan", "zoe"])
def test_every_address_with_an_id_or_name_of_ours_is_404(cast: Cast, review: str, browser: SignIn, name: str) -> None:
    task = only_task(started(cast.actor("uri"), "review", what="lunch", amount=3))
    stranger = browser(name)
    never = stranger.get(f"/inbox/tasks/{NOBODYS}/")
    gets = (f"/inbox/tasks/{task.pk}/", f"/inbox/instances/{task.instance_id}/", "/inbox/start/review/")
    posts = (*(f"/inbox/tasks/{task.pk}/{act}/" for act in ("claim", "release", "complete")), "/inbox/start/review/")
    for answer in [stranger.get(address) for address in gets] + [stranger.post(address) for address in posts]:
        assert answer.status_code == 404
        assert answer.content == never.content
    task.refresh_from_db()
    assert task.status == "open"


def test_lists_and_gallery_show_nothing_of_another_tenant(cast: Cast, review: str, browser: SignIn) -> None:
    started(cast.actor("uri"), "review", what="secret lunch", amount=3)
    sam = browser("sam")
    for address in ("/inbox/", "/inbox/?view=team", "/inbox/?view=available", "/inbox/start/", "/inbox/started/"):
        html = sam.get(address).content.decode()
        assert "secret lunch" not in html
        assert "Expense review" not in html
