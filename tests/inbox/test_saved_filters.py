"""Saved filters on the page: an address under a name, at the side of every page."""

import re

from django.test import Client

from engine.models import SavedFilter
from tests.cast import Cast
from tests.hooks import acts, toast, toasts
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks, titles
from tests.workflows import hurried


def kept(client: Client, name: str, query: str, **fields: str) -> str:
    answer = client.post("/inbox/filters/", {"name": name, "query": query} | fields)
    return str(answer["Location"])


def test_a_saved_filter_stands_at_the_side_with_its_count(cast: Cast, review: str, browser: SignIn) -> None:
    first, *_others = some_tasks(cast, 3)
    hurried(first, priority=3)
    adam = browser("adam")
    address = kept(adam, "Burning", "view=team&priority=critical&q=&after=x&nonsense=1", shared="yes")
    assert address == "/inbox/?view=team&priority=critical"
    assert titles(adam, address) == [first.title]
    for person in ("adam", "ada"):
        html = browser(person).get("/inbox/start/").content.decode()
        side = re.search(r'href="/inbox/\?view=team&amp;priority=critical".*?</a>', html, re.DOTALL)
        assert side
        assert "Burning" in side[0]
        assert "data-shared" in side[0]
        assert ">1</span>" in side[0]


def test_the_page_of_a_saved_filter_bears_its_name_and_offers_to_delete_it(
    cast: Cast, review: str, browser: SignIn
) -> None:
    some_tasks(cast, 1)
    ada = browser("ada")
    assert "save_filter" in acts(ada.get("/inbox/?view=available&role=finance"))
    address = kept(ada, "<b>Mine</b>", "view=available&role=finance")
    html = ada.get(address).content.decode()
    assert "<h1>&lt;b&gt;Mine&lt;/b&gt;</h1>" in html
    assert "delete_filter" in acts(html)
    assert "save_filter" not in acts(html)


def test_delete_offers_undo_and_undo_brings_it_back(cast: Cast, review: str, browser: SignIn) -> None:
    ada = browser("ada")
    kept(ada, "Late", "view=mine&due=late")
    saved = SavedFilter.objects.get()
    html = ada.post(f"/inbox/filters/{saved.pk}/remove/", follow=True).content.decode()
    assert "Late" in toast("filter.deleted", html)
    undo = re.search(r'<form method="post" action="([^"]+restore/)">', html)
    assert undo
    assert "Late" in toast("filter.restored", ada.post(undo[1], follow=True))
    assert SavedFilter.objects.get().deleted_at is None


def test_filters_of_others_are_not_there(cast: Cast, review: str, browser: SignIn) -> None:
    kept(browser("ada"), "Late", "view=mine&due=late")
    saved = SavedFilter.objects.get()
    for person in ("adam", "sam"):
        assert browser(person).post(f"/inbox/filters/{saved.pk}/remove/").status_code == 404
    kept(browser("ada"), "Late", "view=mine&due=late", shared="yes")
    assert browser("adam").post(f"/inbox/filters/{saved.pk}/remove/").status_code == 403
    assert (
        browser("uri").post("/inbox/filters/", {"name": "x", "query": "view=mine", "shared": "yes"}).status_code == 403
    )


def test_what_cannot_be_kept_is_told_on_the_list(cast: Cast, review: str, browser: SignIn) -> None:
    answer = browser("ada").post("/inbox/filters/", {"name": "", "query": "view=team&due=late"}, follow=True)
    assert toasts(answer) == ["invalid"]
    assert answer.redirect_chain[-1][0] == "/inbox/?view=team&due=late"
