"""E-mails about an account are written in the language of the person they go to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core import mail
from django.utils import translation

from tests.cast import Cast
from workflowplatform.accounts import mails
from workflowplatform.accounts.models import User

pytestmark = pytest.mark.django_db

KINDS: dict[str, Callable[[User], None]] = {
    "invitation": lambda person: mails.send_invitation(person, "http://testserver/invited"),
    "reset": lambda person: mails.send_reset(person, base_url="http://testserver"),
    "address_changed": lambda person: mails.send_address_changed(person, old="old@acme.test", by="gwen"),
}


def sent_to(person: User, kind: str, language: str) -> tuple[str, str]:
    """Send an e-mail to a person of a language while another language is spoken; return its subject and greeting."""
    person.language = language
    with translation.override("de" if language == "en" else "en"):
        KINDS[kind](person)
    last = mail.outbox[-1]
    return last.subject, str(last.body).splitlines()[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_reads_e_mails_in_their_own_language(cast: Cast, kind: str) -> None:
    cast.ada.email = "ada@acme.test"
    english, german = sent_to(cast.ada, kind, "en"), sent_to(cast.ada, kind, "de")
    with translation.override("de"):
        greeting = translation.gettext("Hello %(name)s,") % {"name": cast.ada.display_name}
    assert german[1] == greeting
    assert english[0] != german[0]
    assert english[1] != german[1]
