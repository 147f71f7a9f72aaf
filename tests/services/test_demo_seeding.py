"""Furnishing: one at a time, and whole in the end, whatever comes in between."""

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import QuerySet

from engine.errors import Conflict
from engine.management.demo import furnish
from engine.management.demo.stories import Story, acme_stories, globex_stories, last_acme_stories, mark_story
from engine.models import Instance, Task
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from tests.workers import ROOT, environment
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.servers.demo_people import PEOPLE

pytestmark = pytest.mark.usefixtures("transactional", "valkey")


@pytest.mark.slow
def test_two_furnishers_at_once_make_one_demo() -> None:
    answers: list[bool] = []
    threads = [threading.Thread(target=_furnish_into, args=(answers,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, True]
    references = list(Instance.objects.filter(tenant__name="acme").values_list("template", "reference"))
    assert len(references) == len(set(references))


def _furnish_into(answers: list[bool]) -> None:
    try:
        answers.append(furnish())
    finally:
        connection.close()


@pytest.mark.slow
def test_a_furnisher_that_is_killed_is_followed_by_one_who_makes_the_rest() -> None:
    """Kill a real one in the middle of its work: after the past, between the starts and what people did about them."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"], cwd=ROOT, env=environment(), start_new_session=True
    )
    try:
        wait_until(lambda: Task.objects.filter(instance__in=told_today()).exclude(status="open").count() >= 5)
    finally:
        process.kill()
        process.wait()
    assert not Instance.objects.filter(reference=mark_story().reference).exists()
    past = Instance.objects.exclude(pk__in=told_today()).count()
    assert furnish()
    assert Instance.objects.exclude(pk__in=told_today()).count() == past > 100
    assert [story.reference for story in every_story() if not is_told(story)] == []
    assert User.objects.count() == len(PEOPLE)


def told_today() -> QuerySet[Instance]:
    """Return the cases that are not of the past."""
    return Instance.objects.filter(reference__in=[story.reference for story in every_story()])


def every_story() -> list[Story]:
    return [*acme_stories(), *globex_stories(), *last_acme_stories(), mark_story()]


def is_told(story: Story) -> bool:
    """Look whether everything people did in a story is to be seen in its tasks, once."""
    instance = Instance.objects.get(reference=story.reference, template__name=story.template)
    wanted = Counter((deed.step, DONE[deed.verb]) for deed in story.deeds if deed.step)
    found = Counter(instance.tasks.filter(status__in=DONE.values()).values_list("step", "status"))
    held = {"cancel": "cancelled", "suspend": "suspended"}
    ends = {held[deed.verb] for deed in story.deeds if deed.verb in held}
    return found == wanted and ends <= {instance.status}


DONE = {"complete": "completed", "claim": "claimed"}


def wait_until(holds: Callable[[], bool]) -> None:
    """Look again and again, for a minute at most."""
    stop_at = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < stop_at
        time.sleep(0.01)


def test_a_demo_name_that_is_somebody_elsewhere_is_refused_in_one_sentence() -> None:
    initech = create_tenant(actor=None, name="initech")
    create_person(actor=None, tenant=initech, name="uri", level=2)
    with pytest.raises(Conflict, match="uri"):
        furnish()
    assert list(Tenant.objects.values_list("name", flat=True)) == ["initech"]
