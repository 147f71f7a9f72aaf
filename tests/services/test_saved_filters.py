"""Saved filters: whose they are, who sees them, and that a deleted one comes back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from engine import access
from engine.errors import Invalid, NotFound, Refused
from engine.models import SavedFilter
from engine.services.tasks.saved_filters import KEPT_FOR, MOST_FILTERS, delete_filter, restore_filter, save_filter
from tests.cast import Cast


def names(cast: Cast, name: str) -> list[str]:
    return [one.name for one in access.visible_filters(cast.actor(name))]


def test_private_ones_are_the_owners_and_shared_ones_the_tenants(cast: Cast) -> None:
    ada = cast.actor("ada")
    save_filter(actor=ada, name="Mine alone", query="view=mine")
    save_filter(actor=ada, name="Shared filter", query="view=available", shared=True)
    assert [names(cast, name) for name in ("ada", "adam", "uri", "sam")] == [
        ["Mine alone", "Shared filter"],
        ["Shared filter"],
        ["Shared filter"],
        [],
    ]


def test_the_same_name_again_replaces(cast: Cast) -> None:
    ada = cast.actor("ada")
    first = save_filter(actor=ada, name="Late", query="view=mine")
    again = save_filter(actor=ada, name="  Late ", query="view=team&due=late", shared=True)
    assert (again.pk, again.query, again.shared) == (first.pk, "view=team&due=late", True)
    save_filter(actor=cast.actor("adam"), name="Late", query="view=mine")
    assert SavedFilter.objects.count() == 2


def test_deleted_ones_are_gone_and_come_back(cast: Cast) -> None:
    ada = cast.actor("ada")
    saved = save_filter(actor=ada, name="Late", query="view=mine", shared=True)
    delete_filter(actor=ada, filter_id=saved.pk)
    assert names(cast, "adam") == []
    with pytest.raises(NotFound):
        delete_filter(actor=ada, filter_id=saved.pk)
    restore_filter(actor=ada, filter_id=saved.pk)
    assert names(cast, "adam") == ["Late"]


def test_a_name_given_again_stays_when_the_old_one_is_called_back(cast: Cast) -> None:
    ada = cast.actor("ada")
    old = delete_filter(actor=ada, filter_id=save_filter(actor=ada, name="Late", query="view=mine").pk)
    new = save_filter(actor=ada, name="Late", query="view=team")
    assert restore_filter(actor=ada, filter_id=old.pk) == new


def test_only_the_owner_or_level_five_takes_a_shared_one_away(cast: Cast) -> None:
    saved = save_filter(actor=cast.actor("ada"), name="Late", query="view=mine", shared=True)
    with pytest.raises(Refused, match="Ada"):
        delete_filter(actor=cast.actor("adam"), filter_id=saved.pk)
    for stranger in ("sam", "zoe"):
        with pytest.raises(NotFound):
            delete_filter(actor=cast.actor(stranger), filter_id=saved.pk)
    delete_filter(actor=cast.actor("gwen"), filter_id=saved.pk)
    assert names(cast, "ada") == []


def test_below_level_four_nothing_is_shared(cast: Cast) -> None:
    with pytest.raises(Refused) as refusal:
        save_filter(actor=cast.actor("uri"), name="Late", query="view=mine", shared=True)
    assert refusal.value.code == "level"
    assert save_filter(actor=cast.actor("uri"), name="Late", query="view=mine").name == "Late"


@pytest.mark.parametrize(("name", "query"), [(" ", "view=mine"), ("x" * 61, "view=mine"), ("x", "q=" + "x" * 2000)])
def test_what_cannot_be_kept_is_refused_with_a_sentence(cast: Cast, name: str, query: str) -> None:
    with pytest.raises(Invalid):
        save_filter(actor=cast.actor("ada"), name=name, query=query)


def test_a_person_keeps_so_many_and_old_deleted_ones_go(cast: Cast) -> None:
    ada = cast.actor("ada")
    for number in range(MOST_FILTERS):
        save_filter(actor=ada, name=f"f{number}", query="view=mine")
    with pytest.raises(Invalid) as refusal:
        save_filter(actor=ada, name="one more", query="view=mine")
    assert [(error.path, error.code) for error in refusal.value.errors] == [("name", "invalid")]
    save_filter(actor=ada, name="f3", query="view=team")
    first = SavedFilter.objects.get(name="f0")
    delete_filter(actor=ada, filter_id=first.pk)
    SavedFilter.objects.filter(pk=first.pk).update(deleted_at=timezone.now() - KEPT_FOR - timedelta(hours=1))
    save_filter(actor=ada, name="one more", query="view=mine")
    assert not SavedFilter.objects.filter(pk=first.pk).exists()
