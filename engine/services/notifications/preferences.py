"""What a person wants to be told, how and when: the defaults, what they chose, and the moment at which a message is due."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils.translation import gettext as _

from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import NotificationSettings
from engine.models.notification import KINDS
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User
from workflowplatform.database.tenancy import acting_for

MAIL_WAYS = ("off", "once", "daily")
MAIL_DEFAULTS: Mapping[str, str] = MappingProxyType({kind: "daily" if kind == "offered" else "once" for kind in KINDS})
PUSH_DEFAULTS = frozenset(KINDS) - {"offered", "handed_over"}
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Preferences:
    """What one person wants, with the defaults filled in."""

    mail: Mapping[str, str] = field(default_factory=lambda: MAIL_DEFAULTS)
    push: frozenset[str] = PUSH_DEFAULTS
    quiet: bool = False
    quiet_from: time = time(18, 30)
    quiet_until: time = time(7, 30)
    quiet_weekend: bool = False
    digest_at: time = time(8, 0)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    bounced_at: datetime | None = None
    bounced_address: str = ""

    def due(self, way: str, now: datetime) -> tuple[str, datetime]:
        """Return how and when a message is sent that comes up now: at once, after quiet hours, or with the digest."""
        if way == "daily":
            return "daily", self.next_digest(now)
        free = self.free_from(now)
        return ("once", now) if free == now else ("quiet", free)

    def free_from(self, now: datetime) -> datetime:
        """Return the first moment from now on that is not quiet."""
        moment = now.astimezone(self.zone)
        for _day in range(8):
            if self.quiet_weekend and moment.weekday() >= SATURDAY:
                moment = _at(moment + timedelta(days=1), self.quiet_until if self.quiet else self.digest_at, self.zone)
            elif self.quiet and _is_between(moment.time(), self.quiet_from, self.quiet_until):
                later = moment.time() >= self.quiet_until
                moment = _at(moment + timedelta(days=later), self.quiet_until, self.zone)
            else:
                break
        return now if moment == now else moment.astimezone(now.tzinfo)

    def next_digest(self, now: datetime) -> datetime:
        """Return when the next daily digest is due, on a working day where weekends are quiet."""
        local = now.astimezone(self.zone)
        digest = _at(local, self.digest_at, self.zone)
        if digest <= local:
            digest = _at(local + timedelta(days=1), self.digest_at, self.zone)
        while self.quiet_weekend and digest.weekday() >= SATURDAY:
            digest = _at(digest + timedelta(days=1), self.digest_at, self.zone)
        return digest.astimezone(now.tzinfo)


def _at(day: datetime, clock: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day.date(), clock, tzinfo=zone)


def _is_between(clock: time, first: time, last: time) -> bool:
    """Return whether a time of day is between two others, which may have midnight between them."""
    return first <= clock < last if first <= last else clock >= first or clock < last


def zone_of(person: User) -> ZoneInfo:
    """Return a person's zone; one that this machine does not know is UTC."""
    try:
        return ZoneInfo(person.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def preferences_of(people: Iterable[User]) -> dict[UUID, Preferences]:
    """Return what these people want, by their ids, with one query."""
    known = {person.pk: person for person in people}
    kept = {row.person_id: row for row in NotificationSettings.objects.filter(person_id__in=known)}
    return {pk: _merged(kept.get(pk), zone_of(person)) for pk, person in known.items()}


def _merged(row: NotificationSettings | None, zone: ZoneInfo) -> Preferences:
    if row is None:
        return Preferences(zone=zone)
    chosen = row.mail if isinstance(row.mail, dict) else {}
    return Preferences(
        mail={kind: way if (way := chosen.get(kind)) in MAIL_WAYS else MAIL_DEFAULTS[kind] for kind in KINDS},
        push=PUSH_DEFAULTS if row.push is None else frozenset(row.push) & frozenset(KINDS),
        quiet=row.quiet,
        quiet_from=row.quiet_from,
        quiet_until=row.quiet_until,
        quiet_weekend=row.quiet_weekend,
        digest_at=row.digest_at,
        zone=zone,
        bounced_at=row.bounced_at,
        bounced_address=row.bounced_address,
    )


def own_preferences(actor: Actor) -> Preferences:
    """Return what the actor wants to be told, also while they work in another tenant."""
    with acting_for(actor.home_tenant_id):
        return preferences_of(User.objects.filter(pk=_person(actor)))[_person(actor)]


def _person(actor: Actor) -> UUID:
    assert actor.person_id is not None, "only people have settings"
    return actor.person_id


def change_preferences(*, actor: Actor, **chosen: Any) -> Preferences:
    """Save some of the actor's settings; `mail` and `push` name kinds, everything else a moment or a switch."""
    with acting_for(actor.home_tenant_id):
        _change(actor, chosen)
    return own_preferences(actor)


@in_one_transaction
def _change(actor: Actor, chosen: dict[str, Any]) -> None:
    row = _row_of(actor)
    if "mail" in chosen:
        row.mail = {**row.mail, **_checked_mail(chosen.pop("mail"))}
    if "push" in chosen:
        row.push = sorted(set(chosen.pop("push")) & set(KINDS))
    for name, value in chosen.items():
        setattr(row, name, value)
    row.save()


def _row_of(actor: Actor) -> NotificationSettings:
    key = {"tenant_id": actor.home_tenant_id, "person_id": _person(actor)}
    NotificationSettings.objects.bulk_create([NotificationSettings(**key)], ignore_conflicts=True)
    return NotificationSettings.objects.select_for_update(no_key=True).get(**key)


def _checked_mail(ways: Mapping[str, str]) -> dict[str, str]:
    if wrong := [kind for kind, way in ways.items() if kind not in KINDS or way not in MAIL_WAYS]:
        message = _("Choose off, at once or daily.")
        raise Invalid(message, [FieldError(kind, "choice", message) for kind in wrong])
    return dict(ways)


def reset_preferences(*, actor: Actor) -> None:
    """Reset the actor's preferences to the defaults; what is known about their mail address stays."""
    with acting_for(actor.home_tenant_id):
        _reset(actor)


@in_one_transaction
def _reset(actor: Actor) -> None:
    row = _row_of(actor)
    fresh = NotificationSettings(tenant_id=row.tenant_id, person_id=row.person_id)
    for name in ("mail", "push", "quiet", "quiet_from", "quiet_until", "quiet_weekend", "digest_at"):
        setattr(row, name, getattr(fresh, name))
    row.save()


def note_bounce(person: User, address: str, words: str, now: datetime) -> None:
    """Keep that a message to this address came back, for the person and for operators."""
    fields = {"bounced_at": now, "bounced_address": address, "bounce": words[:1000]}
    NotificationSettings.objects.update_or_create(tenant_id=person.tenant_id, person_id=person.pk, defaults=fields)


def forget_bounce(person: User) -> int:
    """Forget that messages came back: one was taken, or a person says that they arrive again. Return how many did."""
    return NotificationSettings.objects.filter(person_id=person.pk, bounced_at__isnull=False).update(
        bounced_at=None, bounced_address="", bounce=""
    )
