"""Create and revoke tokens: for oneself and for service accounts, so that nobody gets to act as another person."""

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from engine.audit.chain import Act, record
from engine.conf import conf
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, Refused
from engine.kernel.forms import FieldError
from engine.services.people.account_rules import maker_of, stand_behind, to_manage
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Token, User
from workflowplatform.accounts.scopes import Scope


@in_one_transaction
def create_token(
    *,
    actor: Actor | None,
    person: User,
    name: str = "",
    scopes: Iterable[str] = (),
    expires_in: timedelta | None = None,
) -> tuple[Token, str]:
    """Make a token for oneself or for a service account. Its text is returned once and kept nowhere."""
    acting, person = to_manage(actor, person, self_too=True)
    if actor is not None:
        _refuse_token_of_another(actor, person)
    if not person.is_active:
        raise Refused(f"{person.display_name} is deactivated and cannot have a token.", code="inactive")
    if actor is not None:
        _refuse_too_many(person)
    narrowed = _known_scopes(scopes)
    if expires_in is not None and expires_in <= timedelta(0):
        raise Invalid(
            "A token must expire in the future.", [FieldError("expires_in", "past", "Enter a time in the future.")]
        )
    token, plain = Token.objects.create(
        person, expiry=_life(expires_in), name=name, tenant=person.tenant, scopes=narrowed, made_by=maker_of(actor)
    )
    facts = {"name": name, "key": token.token_key, "scopes": narrowed, "made_by": token.made_by}
    if person.is_service:
        stand_behind(person, acting)
    record(person, Act("create_token", new=facts), actor=acting)
    return token, plain


def _refuse_token_of_another(actor: Actor, person: User) -> None:
    """Refuse what would let one act as another person, or let a program make itself another way in."""
    if actor.is_service:
        raise Refused("A service account cannot create tokens. Ask an administrator.", code="service")
    if actor.person_id != person.pk and not person.is_service:
        words = f"A token of {person.display_name} would act as them. Create a service account, or let them create their own."
        raise Refused(words, code="self")


def _known_scopes(scopes: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(map(str, scopes)))
    unknown = [name for name in wanted if name not in set(Scope)]
    if unknown:
        words = f"There is no scope {unknown[0]}; use {', '.join(Scope)}."
        raise Invalid(words, [FieldError("scopes", "unknown", words)])
    return wanted


def _life(wished: timedelta | None) -> timedelta | None:
    """Return how long a token lives: as wished, within the operator's bound; not said: the usual time."""
    most = conf.token_most_days
    if wished is None:
        usual = conf.token_days or most
        days = min(usual, most) if most else usual
        return timedelta(days=days) if days else None
    if most and wished > timedelta(days=most):
        words = f"A token lives at most {most} days here."
        raise Invalid(words, [FieldError("expires_in", "too_long", words)])
    return wished


def _refuse_too_many(person: User) -> None:
    living = Token.objects.filter(user=person).exclude(expiry__lte=timezone.now()).count()
    if living >= conf.tokens_per_person:
        words = f"{person.display_name} has {living} tokens, which is the limit. Revoke one that is no longer used."
        raise Conflict(words, code="limit", limit=conf.tokens_per_person)


@in_one_transaction
def revoke_token(*, actor: Actor | None, token: Token) -> None:
    """End a token at once."""
    acting, person = to_manage(actor, token.user, self_too=True)
    gone, _ = Token.objects.filter(pk=token.pk).delete()
    if gone:
        record(person, Act("revoke_token", old={"name": token.name, "key": token.token_key}), actor=acting)
