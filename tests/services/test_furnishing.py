"""Furnishing: one at a time, and whole in the end."""

import threading
from typing import Any

import pytest
from django.db import connection

from engine.demo import furnish
from engine.errors import Conflict
from engine.models import Instance
from engine.services.people import create_person, create_tenant
from workflowplatform.accounts.models import Tenant, User

pytestmark = pytest.mark.usefixtures("transactional", "valkey", "quick_passwords")


@pytest.fixture
def quick_passwords(settings: Any) -> None:
    """Hash quickly: how strongly a known password is hashed is not at stake here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def test_two_furnishers_at_once_make_one_demo() -> None:
    answers: list[bool] = []
    threads = [threading.Thread(target=_furnish_into, args=(answers,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False, True]
    references = list(Instance.objects.filter(tenant__name="acme").values_list("reference", flat=True))
    assert len(references) == len(set(references))


def _furnish_into(answers: list[bool]) -> None:
    try:
        answers.append(furnish())
    finally:
        connection.close()


def test_an_interrupted_furnisher_is_followed_by_one_who_makes_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("engine.demo.furnishing.globex_stories", _power_cut)
        with pytest.raises(KeyboardInterrupt):
            furnish()
    made = Instance.objects.filter(tenant__name="acme").count()
    assert made >= 45
    assert furnish()
    assert Instance.objects.filter(tenant__name="acme").count() == made + 2
    assert Instance.objects.filter(tenant__name="globex").count() == 3
    assert User.objects.count() == 7


def _power_cut() -> None:
    raise KeyboardInterrupt


def test_a_demo_name_that_is_somebody_elsewhere_is_refused_in_one_sentence() -> None:
    initech = create_tenant(actor=None, name="initech")
    create_person(actor=None, tenant=initech, name="uri", level=2)
    with pytest.raises(Conflict, match="uri"):
        furnish()
    assert list(Tenant.objects.values_list("name", flat=True)) == ["initech"]
