"""Webhooks in the admin: a new secret needs a reason, is shown once, is audited, and is created only once per press."""

from typing import Any

import pytest

from engine.models import Audit, Webhook
from engine.services.webhooks.subscriptions import create_webhook
from engine.storage.encryption import decrypt
from tests.admin.conftest import SignIn, words_of
from tests.admin.test_operations import page
from tests.hooks import acts, notices, part, value, values
from workflowplatform.accounts.actor import Actor


@pytest.fixture
def webhook(gwen: Actor) -> Webhook:
    """Give Acme a webhook."""
    return create_webhook(actor=gwen, url="https://hooks.example.com/in", events=["instance.started"], title="Ledger")[
        0
    ]


def form_of(shown: Any, address: str) -> dict[str, str]:
    """Return what the page's own form for an act would send."""
    (button,) = [one for one in shown.context["wf_buttons"] if one.url == address]
    assert f'name="mark" value="{button.mark}"' in shown.content.decode()
    return {"mark": button.mark, "answer": "Somebody saw the old one"}


def test_a_new_secret_is_shown_once_with_its_reason_in_the_audit(webhook: Webhook, sign_in: SignIn) -> None:
    gwen, old = sign_in("gwen"), decrypt(bytes(webhook.secret))
    shown = gwen.get(page(webhook))
    assert "rotate" in acts(shown)
    assert part("preview", shown)
    answer = gwen.post(page(webhook, "rotate"), form_of(shown, page(webhook, "rotate")))
    webhook.refresh_from_db()
    new = decrypt(bytes(webhook.secret))
    assert new != old == decrypt(bytes(webhook.old_secret or b""))
    assert new in answer.content.decode()
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert value("old-secret", answer) == "valid"
    act = Audit.objects.get(action="rotate_webhook_secret")
    assert (act.cause, act.actor_name, act.new["webhook"]) == ("Somebody saw the old one", "gwen", str(webhook.pk))
    after = gwen.get(page(webhook))
    assert new not in words_of(after)
    assert value("old-secret", after) == "valid"


def test_pressed_twice_it_is_made_once(webhook: Webhook, sign_in: SignIn) -> None:
    gwen = sign_in("gwen")
    sent = form_of(gwen.get(page(webhook)), page(webhook, "rotate"))
    gwen.post(page(webhook, "rotate"), sent)
    webhook.refresh_from_db()
    kept = (bytes(webhook.secret), bytes(webhook.old_secret or b""))
    assert notices(gwen.post(page(webhook, "rotate"), sent, follow=True)) == ["changed"]
    webhook.refresh_from_db()
    assert (bytes(webhook.secret), bytes(webhook.old_secret or b"")) == kept
    assert Audit.objects.filter(action="rotate_webhook_secret").count() == 1


@pytest.mark.parametrize(("typed", "code"), [("soon", "invalid"), ("31", "range"), ("9" * 20, "invalid")])
def test_an_odd_number_of_days_is_refused_and_changes_nothing(
    webhook: Webhook, sign_in: SignIn, typed: str, code: str
) -> None:
    gwen = sign_in("gwen")
    sent = form_of(gwen.get(page(webhook)), page(webhook, "rotate")) | {"keep_for": typed}
    assert notices(gwen.post(page(webhook, "rotate"), sent, follow=True)) == [code]
    before = bytes(webhook.secret)
    webhook.refresh_from_db()
    assert bytes(webhook.secret) == before


def test_the_old_secret_ends_at_once_where_that_is_asked(webhook: Webhook, sign_in: SignIn) -> None:
    gwen = sign_in("gwen")
    sent = form_of(gwen.get(page(webhook)), page(webhook, "rotate")) | {"keep_for": "0"}
    assert value("old-secret", gwen.post(page(webhook, "rotate"), sent)) == "ended"
    assert values("old-secret", gwen.get(page(webhook))) == []


@pytest.mark.parametrize(("name", "status"), [("ada", 302), ("sam", 404), ("uri", 403)])
def test_people_below_the_level_change_nothing(webhook: Webhook, sign_in: SignIn, name: str, status: int) -> None:
    browser, before = sign_in(name), bytes(webhook.secret)
    answer = browser.post(page(webhook, "rotate"), {"answer": "please"})
    assert answer.status_code == status
    webhook.refresh_from_db()
    assert bytes(webhook.secret) == before
    if name == "ada":
        assert "rotate" not in acts(browser.get(page(webhook)))
