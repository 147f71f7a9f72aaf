"""Saved filters: whose they are, who sees them, and that a deleted one comes back."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from engine import access
from engine.errors import Invalid, NotFound, Refused
from engine.models import SavedFilter
from engine.services.tasks.list_settings import choose_start
from engine.services.tasks.saved_filters import (
    KEPT_FOR,
    MOST_FILTERS,
    Sharing,
    change_filter,
    delete_filter,
    restore_filter,
    save_filter,
)
from tests.cast import Cast
from workflowplatform.accounts.models import Membership, Role


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


FINANCE = Sharing(role="finance")


def test_a_filter_shared_with_a_role_is_seen_by_its_people_only(cast: Cast) -> None:
    gwen = cast.actor("gwen")
    save_filter(actor=gwen, name="Month end", query="view=team", sharing=FINANCE)
    save_filter(actor=gwen, name="Board", query="view=team", sharing=Sharing(role="management"))
    assert {name: names(cast, name) for name in ("gwen", "ada", "adam", "uri", "sam", "stan")} == {
        "gwen": ["Board", "Month end"],
        "ada": ["Month end"],
        "adam": ["Board"],
        "uri": [],
        "sam": [],
        "stan": [],
    }


def test_from_level_four_on_filters_of_all_roles_can_be_looked_after(cast: Cast) -> None:
    save_filter(actor=cast.actor("gwen"), name="Month end", query="view=team", sharing=FINANCE)
    seen = {
        name: [one.name for one in access.filters_to_look_after(cast.actor(name))]
        for name in ("ada", "adam", "uri", "sam", "zoe")
    }
    assert seen == {"ada": ["Month end"], "adam": ["Month end"], "uri": [], "sam": [], "zoe": []}


def test_who_leaves_a_role_sees_its_filters_no_more_and_starts_with_mine(cast: Cast) -> None:
    saved = save_filter(actor=cast.actor("gwen"), name="Month end", query="view=team", sharing=FINANCE)
    ada = cast.actor("ada")
    choose_start(actor=ada, filter_id=saved.pk)
    assert access.sees_filter(ada, saved)
    Membership.objects.filter(user=cast.ada, role__name="finance").delete()
    left = cast.actor("ada")
    assert names(cast, "ada") == []
    assert not access.sees_filter(left, saved)


def test_a_role_that_is_deleted_leaves_the_filter_to_its_owner(cast: Cast) -> None:
    role = Role.objects.create(tenant=cast.acme, name="auditors")
    save_filter(actor=cast.actor("gwen"), name="Month end", query="view=team", sharing=Sharing(role="auditors"))
    with connection.cursor() as cursor:  # as an operator does, past Django
        cursor.execute("DELETE FROM wf_roles WHERE id = %s", [role.pk])
    assert Sharing.of(SavedFilter.objects.get()) == Sharing()
    assert (names(cast, "gwen"), names(cast, "ada")) == (["Month end"], [])


def test_the_owner_changes_name_filter_and_sharing(cast: Cast) -> None:
    ada = cast.actor("ada")
    saved = save_filter(actor=ada, name="Late", query="view=mine")
    change_filter(actor=ada, filter_id=saved.pk, name=" Very  late ", query="view=team&due=late", sharing=FINANCE)
    saved.refresh_from_db()
    assert (saved.name, saved.query, Sharing.of(saved)) == ("Very late", "view=team&due=late", FINANCE)
    change_filter(actor=ada, filter_id=saved.pk, sharing=Sharing(everyone=True))
    change_filter(actor=ada, filter_id=saved.pk, name="Late")
    saved.refresh_from_db()
    assert (saved.name, Sharing.of(saved)) == ("Late", Sharing(everyone=True))


def test_others_change_it_only_where_its_owner_lets_them_and_never_whom_it_is_shared_with(cast: Cast) -> None:
    ada, adam = cast.actor("ada"), cast.actor("adam")
    saved = save_filter(actor=ada, name="Late", query="view=mine", shared=True)
    with pytest.raises(Refused) as refusal:
        change_filter(actor=adam, filter_id=saved.pk, query="view=team")
    assert refusal.value.code == "level"
    change_filter(actor=ada, filter_id=saved.pk, sharing=Sharing(everyone=True, editable=True))
    assert change_filter(actor=adam, filter_id=saved.pk, query="view=team").query == "view=team"
    assert change_filter(actor=cast.actor("uri"), filter_id=saved.pk, name="Soon").name == "Soon"
    with pytest.raises(Refused):
        change_filter(actor=adam, filter_id=saved.pk, sharing=FINANCE)
    with pytest.raises(Refused):
        delete_filter(actor=adam, filter_id=saved.pk)
    assert change_filter(actor=cast.actor("gwen"), filter_id=saved.pk, sharing=FINANCE).role is not None
    for stranger in ("sam", "zoe"):
        with pytest.raises(NotFound):
            change_filter(actor=cast.actor(stranger), filter_id=saved.pk, name="x")


def test_a_private_filter_is_changed_by_nobody_else(cast: Cast) -> None:
    saved = save_filter(actor=cast.actor("ada"), name="Late", query="view=mine")
    for other in ("adam", "gwen"):
        with pytest.raises(NotFound):
            change_filter(actor=cast.actor(other), filter_id=saved.pk, name="x")


def test_a_name_that_the_owner_has_already_and_a_role_that_is_no_more_are_refused(cast: Cast) -> None:
    ada = cast.actor("ada")
    save_filter(actor=ada, name="Late", query="view=mine")
    other = save_filter(actor=ada, name="Soon", query="view=mine")
    for wrong in ({"name": "Late"}, {"name": " "}, {"query": "q=" + "x" * 2000}, {"sharing": Sharing(role="nowhere")}):
        with pytest.raises(Invalid):
            change_filter(actor=ada, filter_id=other.pk, **wrong)  # type: ignore[arg-type]


def test_below_level_four_nothing_is_shared_by_a_change_either(cast: Cast) -> None:
    uri = cast.actor("uri")
    saved = save_filter(actor=uri, name="Late", query="view=mine")
    with pytest.raises(Refused) as refusal:
        change_filter(actor=uri, filter_id=saved.pk, sharing=FINANCE)
    assert refusal.value.code == "level"
