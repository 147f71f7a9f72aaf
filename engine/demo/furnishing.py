"""Furnish an empty house: tenants, people, templates and cases, all through the services that everybody uses.

One furnisher works at a time (an advisory lock of its session), in transactions that are each whole: whoever is interrupted is
followed by one who makes what is missing. The last case is the mark that all is there; after it nothing is ever made
again, whatever people change or take away.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from engine import access
from engine.demo.stories import Deed, Story, acme_stories, globex_stories, last_acme_stories
from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.gallery import gallery
from engine.kernel.transitions import TaskStatus
from engine.models import Instance, Template
from engine.services.instances import cancel_instance, start_instance
from engine.services.people import create_person, create_role, create_tenant
from engine.services.tasks import claim_task, complete_task
from engine.services.templates import activate_version, save_draft
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Role, Tenant, User
from workflowplatform.services.demo_people import PEOPLE

LOCK = 0x776F726B
"""Any number that nobody else locks."""

TENANTS = {"acme": "Acme", "globex": "Globex", "house": "House"}
MORE_ROLES = {"accounting": "Accounting", "sales": "Sales", "engineering": "Engineering"}
"""What the gallery offers work to, beside the roles that every tenant has from the start."""
ROLES = {
    "ada": ("finance", "support", "accounting", "engineering"),
    "adam": ("hr", "management", "sales"),
    "sam": ("management",),
    "stan": ("finance", "hr", "support"),
}
GLOBEX_TEMPLATES = ("expense-approval", "leave-request", "equipment-repair")
BEFORE = {"expense-approval": ("due: P2D", "due: P5D")}
AFTER = {"travel-request": ("roles: [management]", "roles: [board]")}
"""What once was different, and what an author is trying: the words that change, by template."""
HASHERS = 2
"""Passwords hashed side by side: hashing is most of the work, and it leaves Python free."""
PATIENCE_SECONDS = 10.0
"""How long to wait for workers that hold what the next deed needs."""


def furnish() -> bool:
    """Make the demo; answer False when it was there already."""
    with _alone():
        if _is_furnished():
            return False
        with ThreadPoolExecutor(max_workers=HASHERS) as pool:
            _furnish_with(People(pool))
    return True


def _furnish_with(people: "People") -> None:
    _make_templates(people.actor("gwen"), gallery())
    _tell(acme_stories(), people)
    _make_templates(people.actor("sam"), {name: gallery()[name] for name in GLOBEX_TEMPLATES})
    _tell(globex_stories(), people)
    people.wait_for_all()
    _tell(last_acme_stories(), people, finish=False)


@contextmanager
def _alone() -> Iterator[None]:
    """Let one furnisher in at a time; death of the session unlocks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _is_furnished() -> bool:
    mark = last_acme_stories()[-1].reference
    return Instance.objects.filter(tenant__name="acme", reference=mark).exists()


# People and templates


class People:
    """The demo's people, made in the background: hashing their passwords takes as long as all the rest."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        there = _names_taken()
        tenants = {name: _tenant(name, title) for name, title in TENANTS.items()}
        _make_roles(tenants["acme"])
        self._made = {
            name: pool.submit(_make_person, tenants[tenant], name, level)
            for name, tenant, level, _ in PEOPLE
            if name not in there
        }
        self._actors: dict[str, Actor] = {}

    def actor(self, name: str) -> Actor:
        """Return a person as the one who acts, as soon as they are there."""
        if name not in self._actors:
            if name in self._made:
                self._made[name].result()
            self._actors[name] = actor_of(User.objects.get(username=name))
        return self._actors[name]

    def wait_for_all(self) -> None:
        """Return when everybody is there."""
        for made in self._made.values():
            made.result()


def _names_taken() -> set[str]:
    """Return the demo names that exist; one that belongs to somebody else's tenant cannot be had."""
    homes = {name: tenant for name, tenant, *_ in PEOPLE}
    taken = dict(User.objects.filter(username__in=homes).values_list("username", "tenant__name"))
    for name, tenant in taken.items():
        if tenant != homes[name]:
            raise Conflict(f"The demo needs the name {name}, and that is somebody in {tenant}.", code="name")
    return set(taken)


def _tenant(name: str, title: str) -> Tenant:
    return Tenant.objects.filter(name=name).first() or create_tenant(actor=None, name=name, title=title)


def _make_roles(tenant: Tenant) -> None:
    there = set(Role.objects.filter(tenant=tenant).values_list("name", flat=True))
    for name, title in MORE_ROLES.items():
        if name not in there:
            create_role(actor=None, tenant=tenant, name=name, title=title)


def _make_person(tenant: Tenant, name: str, level: int) -> None:
    """Create one person in a thread of the pool, which has a connection of its own."""
    try:
        create_person(
            actor=None,
            tenant=tenant,
            name=name,
            level=level,
            roles=ROLES.get(name, ()),
            password=f"demo-{name}",
            email=f"{name}@{tenant.name}.example",
        )
    finally:
        connection.close()


@transaction.atomic
def _make_templates(actor: Actor, sources: Mapping[str, str]) -> None:
    """Put the templates in force that the author's tenant does not have yet."""
    there = set(Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", flat=True))
    for name, source in sources.items():
        if name not in there:
            _make_versions(actor, name, source)


def _make_versions(actor: Actor, name: str, source: str) -> None:
    """Put a template in force; some have an archived version before it, or a draft after it that is not clean."""
    for text in (*_changed(source, BEFORE.get(name)), source):
        version = save_draft(actor=actor, source=text)
        activate_version(actor=actor, name=name, number=version.number)
    for text in _changed(source, AFTER.get(name)):
        save_draft(actor=actor, source=text)


def _changed(source: str, change: tuple[str, str] | None) -> list[str]:
    return [source.replace(*change)] if change else []


# Stories


@dataclass(slots=True)
class Running:
    """A story being told: its instance and what is still to be done."""

    instance: Instance
    deeds: list[Deed]


def _tell(stories: Iterable[Story], people: People, *, finish: bool = True) -> None:
    """Start the stories that are not there and do what people did; `finish` also makes the calls they wait for."""
    running = [_start(story, people) for story in stories if not _is_told(story, people)]
    stop_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        moved = [_do_next(one, people) for one in running]
        running = [one for one in running if one.deeds]
        if finish:
            drain()
        if not running or time.monotonic() > stop_at:
            return
        if not any(moved):
            time.sleep(0.02)


def _is_told(story: Story, people: People) -> bool:
    tenant_id = people.actor(story.person).tenant_id
    return Instance.objects.filter(tenant_id=tenant_id, reference=story.reference).exists()


def _start(story: Story, people: People) -> Running:
    started = start_instance(
        actor=people.actor(story.person), template=story.template, input=story.input, reference=story.reference
    )
    return Running(started.instance, list(story.deeds))


def _do_next(one: Running, people: People) -> bool:
    """Do what can be done now; answer whether anything could."""
    before = len(one.deeds)
    while one.deeds and _do(one.deeds[0], one.instance, people):
        one.deeds.pop(0)
    return len(one.deeds) < before


def _do(deed: Deed, instance: Instance, people: People) -> bool:
    return DEEDS[deed.verb](people.actor(deed.person), instance, deed)


def _complete(actor: Actor, instance: Instance, deed: Deed) -> bool:
    task_id = _open_task(actor, instance, deed.step)
    if task_id is not None:
        complete_task(actor=actor, task_id=task_id, outcome=deed.outcome, values=deed.values, comment=deed.comment)
    return task_id is not None


def _claim(actor: Actor, instance: Instance, deed: Deed) -> bool:
    task_id = _open_task(actor, instance, deed.step)
    if task_id is not None:
        claim_task(actor=actor, task_id=task_id)
    return task_id is not None


def _cancel(actor: Actor, instance: Instance, deed: Deed) -> bool:
    cancel_instance(actor=actor, instance_id=instance.pk, reason=deed.comment)
    return True


def _open_task(actor: Actor, instance: Instance, step: str) -> UUID | None:
    """Find the open task at a step, or None while the case has not come that far."""
    tasks = access.visible_tasks(actor).filter(instance_id=instance.pk, step=step, status=TaskStatus.OPEN)
    return tasks.values_list("pk", flat=True).first()


DEEDS: Mapping[str, Callable[[Actor, Instance, Deed], bool]] = {
    "complete": _complete,
    "claim": _claim,
    "cancel": _cancel,
}
"""How each deed is done; it answers false when its moment has not come."""
