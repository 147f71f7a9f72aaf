"""Every route to a case is in the list by which test_journey.py checks that another tenant sees nothing."""

from __future__ import annotations

from tests.browser.addresses import (
    ADMIN,
    ADMIN_LISTS_OF_A_CASE,
    OTHER_ADMIN_LISTS,
    OTHER_PLACES,
    PLACE,
    PLACES_OF_A_CASE,
    routes_to_cases,
    routes_with_places,
)


def test_every_place_in_a_route_is_said_to_be_a_cases_or_not() -> None:
    places = {place for route in routes_with_places() for place in PLACE.findall(route)}
    assert places - PLACES_OF_A_CASE - OTHER_PLACES == set()


def test_every_list_of_the_admin_is_said_to_be_a_cases_or_not() -> None:
    lists = {found[2] for route in routes_with_places() if (found := ADMIN.match(route))}
    assert lists - ADMIN_LISTS_OF_A_CASE - OTHER_ADMIN_LISTS == set()


def test_each_door_leads_to_cases() -> None:
    assert {route.split("/")[0] for route in routes_to_cases()} == {"inbox", "admin", "api"}
