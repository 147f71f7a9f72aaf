"""Find who is mentioned in a text: `@adam`. Only people who may see what it is about are mentioned."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from engine import access
from engine.models import Task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

MENTION = re.compile(r"(?<![\w@./+-])@([A-Za-z0-9](?:[\w.@+-]*\w)?)")
"""An @ in front of a name, which may be a mail address; one inside an address is none. A name does not end with a full stop."""
MOST_MENTIONS = 20
MOST_OFFERED = 8


@dataclass(frozen=True, slots=True)
class Mentions:
    """The people mentioned in a text, and the names that mention nobody who may see it."""

    people: tuple[User, ...] = ()
    unknown: tuple[str, ...] = ()


def names_in(text: str) -> list[str]:
    """Return the names behind an @, each once, in small letters."""
    return list(dict.fromkeys(name.lower() for name in MENTION.findall(text)))[:MOST_MENTIONS]


def mentions_in(task: Task, text: str) -> Mentions:
    """Return who is mentioned in a text about a task. A name that may not see it is as unknown as nobody's."""
    names = names_in(text)
    if not names:
        return Mentions()
    found = {person.username: person for person in access.people_who_see(task).filter(username__in=names)}
    return Mentions(tuple(found[name] for name in names if name in found), tuple(n for n in names if n not in found))


def people_to_mention(*, actor: Actor, task: Task, typed: str) -> list[User]:
    """Return people who may be mentioned at a task that the actor sees, by how their name begins."""
    people = access.people_who_see(task).exclude(username=actor.name)
    return list(people.filter(beginning_with(typed)).order_by("username")[:MOST_OFFERED])


def beginning_with(typed: str) -> Q:
    """Return the filter of people one of whose names begins with what was typed."""
    begins = Q(username__istartswith=typed) | Q(full_name__istartswith=typed) | Q(full_name__icontains=f" {typed}")
    return begins if typed else Q()


def known_names(task: Task, texts: Iterable[str]) -> frozenset[str]:
    """Return the names mentioned in some texts that are people's of this tenant, with one query."""
    names = {name for text in texts for name in names_in(text)}
    if not names:
        return frozenset()
    people = User.objects.filter(tenant_id=task.tenant_id, username__in=names)
    return frozenset(people.values_list("username", flat=True))
