"""What people are told, in the admin: what did not arrive and why, and addresses that gave a mail back."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engine.audit.chain import database_now
from engine.models import Notification, NotificationSettings
from tests.admin.conftest import SignIn, words_of
from tests.admin.test_operations import page
from tests.cast import Cast
from tests.hooks import acts


@pytest.fixture
def failed(cast: Cast) -> Notification:
    """Give Acme a message that came back."""
    return Notification.objects.create(
        tenant=cast.acme, person=cast.ada, kind="mentioned", channel="mail", key="one", text="between us", status="failed",
        due_at=database_now(), created_at=database_now(), sent_at=database_now(), tries=1,
        error="It came back: 550 no such user",
    )  # fmt: skip


@pytest.fixture
def bounce(cast: Cast) -> NotificationSettings:
    fields = {"bounced_at": database_now(), "bounced_address": "ada@acme.example", "bounce": "550 no such user"}
    return NotificationSettings.objects.create(tenant=cast.acme, person=cast.ada, **fields)


def test_operators_see_what_did_not_arrive_and_why_but_not_what_was_said(failed: Notification, sign_in: SignIn) -> None:
    for address in ("/admin/engine/notification/", page(failed)):
        shown = words_of(sign_in("ada").get(address))
        assert "550 no such user" in shown
        assert "between us" not in shown
        assert words_of(sign_in("sam").get(address)).count("550 no such user") == 0
    assert sign_in("ada").get("/admin/engine/notification/?status__exact=failed").status_code == 200
    assert sign_in("sam").get(page(failed)).status_code == 404


def test_what_failed_is_sent_again_once(failed: Notification, sign_in: SignIn) -> None:
    ada = sign_in("ada")
    assert "resend" in acts(ada.get(page(failed)))
    ada.post(page(failed, "resend"))
    failed.refresh_from_db()
    assert (failed.status, failed.tries, failed.message_id) == ("pending", 0, None)
    assert "resend" not in acts(ada.get(page(failed)))
    ada.post(page(failed, "resend"))
    assert sign_in("sam").post(page(failed, "resend")).status_code == 404


def test_address_that_came_back_is_marked_and_can_be_used_again(
    cast: Cast, bounce: NotificationSettings, sign_in: SignIn
) -> None:
    gwen = sign_in("gwen")
    assert "came back" in words_of(gwen.get("/admin/accounts/user/"))
    shown = gwen.get(page(cast.ada))
    assert "use_address" in acts(shown)
    assert "550 no such user" in words_of(shown)
    assert "use_address" not in acts(gwen.get(page(cast.adam)))
    assert sign_in("sam").post(page(cast.ada, "use_address")).status_code == 404
    gwen.post(page(cast.ada, "use_address"))
    bounce.refresh_from_db()
    assert (bounce.bounced_at, bounce.bounced_address) == (None, "")
    assert "came back" not in words_of(gwen.get("/admin/accounts/user/"))


def test_list_of_people_costs_no_more_for_addresses_that_came_back(
    cast: Cast, bounce: NotificationSettings, sign_in: SignIn
) -> None:
    gwen, counts = sign_in("gwen"), []
    for person in (cast.adam, cast.uri):
        with CaptureQueriesContext(connection) as seen:
            gwen.get("/admin/accounts/user/")
        counts.append(len(seen))
        fields = {"bounced_at": database_now(), "bounced_address": person.email}
        NotificationSettings.objects.create(tenant=cast.acme, person=person, **fields)
    assert counts[0] == counts[1]
