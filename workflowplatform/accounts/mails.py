"""Mails about a person's own account: an invitation, a new password. Plain text, one link each."""

from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from workflowplatform.accounts.models import User


class InvitationTokens(PasswordResetTokenGenerator):
    """Tokens that open only the invitation page; like a reset's they die with use, with a sign-in and with time."""

    key_salt = "workflowplatform.accounts.invitation"


invitation_tokens = InvitationTokens()


def uid_of(person: User) -> str:
    """Write a person's id as links carry it."""
    return urlsafe_base64_encode(force_bytes(str(person.pk)))


def invitation_link(person: User, *, base_url: str) -> str:
    """Make the link by which an invited person chooses a password."""
    path = reverse("accounts:invitation", args=[uid_of(person), invitation_tokens.make_token(person)])
    return base_url.rstrip("/") + path


def send_invitation(person: User, link: str) -> None:
    """Tell a person that an account waits for them."""
    subject = _("Your account at %(tenant)s") % {"tenant": person.tenant}
    _send(person, subject, "mails/invitation.txt", {"person": person, "link": link})


def send_reset(person: User, *, base_url: str, uid: str | None = None, token: str | None = None) -> None:
    """Send the link by which a person chooses a new password."""
    args = [uid or uid_of(person), token or default_token_generator.make_token(person)]
    link = base_url.rstrip("/") + reverse("accounts:password_reset_confirm", args=args)
    _send(person, _("A new password for Workflow"), "mails/reset.txt", {"person": person, "link": link})


def _send(person: User, subject: str, page: str, context: dict[str, object]) -> None:
    send_mail(subject, render_to_string(page, context), None, [person.email])
