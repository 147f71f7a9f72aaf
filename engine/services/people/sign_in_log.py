"""Keep in a person's chain how they came in: sign-ins and failures, passwords, sign-outs, and the use of tokens.

Pages call these after Django has done the work. What people without an account can repeat is bounded: failures by the back-off
(workflowplatform.accounts.sign_in_throttle), the use of a token by one row for each day and address.
"""

from django.utils import timezone

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from workflowplatform.accounts import mails
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Token, User
from workflowplatform.database import tenancy

MOST_ADDRESSES = 20
"""How many addresses of a token are told apart on one day; whatever comes from more is one program behind many."""


def note_token_use(*, token: Token, actor: Actor, address: str) -> None:
    """Keep when a token was used last; its first use on a day and from an address is an act of the audit."""
    now, last = timezone.now(), token.last_used_at
    seen = token.used_from if last is not None and last.date() == now.date() else []
    if address in seen or len(seen) >= MOST_ADDRESSES:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    else:
        _note_first_use(token=token, actor=actor, address=address, seen=[*seen, address])


@in_one_transaction
def _note_first_use(*, token: Token, actor: Actor, address: str, seen: list[str]) -> None:
    now = timezone.now()
    unchanged = Token.objects.filter(pk=token.pk, used_from=token.used_from, last_used_at=token.last_used_at)
    if token.last_used_at is None:
        unchanged = Token.objects.filter(pk=token.pk, last_used_at__isnull=True)
    if unchanged.update(last_used_at=now, used_from=seen):
        facts = {"name": token.name, "key": token.token_key, "address": address}
        record(token.user, Act("use_token", new=facts), actor=actor)


@in_one_transaction
def note_sign_in_act(*, person: User, action: str, address: str) -> None:
    """Append to a person's chain what they, or another with their name, did at the sign-in pages."""
    with tenancy.acting_for(person.tenant_id):
        person = User.objects.get(pk=person.pk)
        record(person, Act(action, new={"address": address}), actor=actor_of(person, roles=()))


@in_one_transaction
def note_attempt(*, name: str, action: str, address: str) -> None:
    """Append a failure to sign in to the chain of the person with this name, if there is one; nobody acted."""
    with tenancy.crossing("sign-in"):
        person = User.objects.filter(username=name).first()
    if person is not None:
        with tenancy.acting_for(person.tenant_id):
            record(person, Act(action, new={"address": address}), actor=nobody_for(person))


def ask_reset(*, person: User, address: str, base_url: str) -> None:
    """Send a person the link they asked for; while their mail address waits to be confirmed there is none."""
    waits = person.email_held_until is not None
    _note_reset(person, {"address": address} | ({"refused": "the mail address was changed"} if waits else {}))
    if not waits:
        mails.soon(lambda: mails.send_reset(person, base_url=base_url), person=person)


@in_one_transaction
def _note_reset(person: User, facts: dict[str, str]) -> None:
    with tenancy.acting_for(person.tenant_id):
        record(person, Act("ask_reset", new=facts), actor=nobody_for(person))


def nobody_for(person: User) -> Actor:
    """Name nobody as the actor: it is not known that the person typed this name."""
    return Actor(None, "", 0, tenant_id=person.tenant_id, home_tenant_id=person.tenant_id)


@in_one_transaction
def end_all_tokens(*, person: User, actor: Actor) -> int:
    """End all tokens of a person, as is wished with a new password; level 6 may wish it while in another tenant."""
    with tenancy.acting_for(person.tenant_id):
        gone = list(Token.objects.filter(user=person))
        Token.objects.filter(user=person).delete()
        for token in gone:
            record(person, Act("revoke_token", old={"name": token.name, "key": token.token_key}), actor=actor)
    return len(gone)
