"""Start a workflow by its form."""

import re

from engine.access.levels import LEVEL_NAMES
from engine.models import Instance
from engine.services.templates.versions import pause_version
from tests.cast import Cast
from tests.hooks import notices, page_name
from tests.inbox.conftest import GODS_ONLY, OWN, SignIn
from tests.workflows import activated, only_task


def test_gallery_shows_only_what_one_may_start(cast: Cast, review: str, browser: SignIn) -> None:
    activated(cast.actor("gwen"), GODS_ONLY)
    uri, gwen = (
        browser("uri").get("/inbox/start/").content.decode(),
        browser("gwen").get("/inbox/start/").content.decode(),
    )
    assert "Expense review" in uri
    assert "Gods only" not in uri
    assert "Gods only" in gwen


def test_form_asks_in_the_authors_order(cast: Cast, review: str, browser: SignIn) -> None:
    html = browser("uri").get("/inbox/start/review/").content.decode()
    assert html.index('name="f.what"') < html.index('name="f.amount"') < html.index('name="f.paid_on"')


def test_start_goes_to_the_instance(cast: Cast, review: str, browser: SignIn) -> None:
    answer = browser("uri").post("/inbox/start/review/", {"f.what": "lunch", "f.amount": "12.50"})
    instance = Instance.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == f"/inbox/instances/{instance.pk}/"
    assert instance.input == {"what": "lunch", "amount": 12.5}


def test_start_goes_to_the_starters_own_task(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), OWN)
    answer = browser("uri").post("/inbox/start/own/")
    assert answer["Location"] == f"/inbox/tasks/{only_task(Instance.objects.get()).pk}/"


def test_wrong_input_comes_back_at_its_field(cast: Cast, review: str, browser: SignIn) -> None:
    answer = browser("uri").post("/inbox/start/review/", {"f.what": "lunch", "f.amount": "0"})
    html = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="id_f.amount_error"' in html
    assert 'value="lunch"' in html
    assert not Instance.objects.exists()


def test_the_same_form_sent_twice_starts_once(cast: Cast, review: str, browser: SignIn) -> None:
    uri = browser("uri")
    html = uri.get("/inbox/start/review/").content.decode()
    number = re.search(r'name="once" value="(\w+)"', html)
    assert number
    sent = {"once": number[1], "f.what": "lunch", "f.amount": "12.50"}
    first, second = uri.post("/inbox/start/review/", sent), uri.post("/inbox/start/review/", sent)
    assert first["Location"] == second["Location"]
    assert Instance.objects.count() == 1
    uri.post("/inbox/start/review/", sent | {"f.what": "dinner"})
    assert Instance.objects.count() == 2


def test_below_the_starters_level_is_refused(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), GODS_ONLY)
    for answer in (browser("ada").get("/inbox/start/gods-only/"), browser("ada").post("/inbox/start/gods-only/")):
        assert answer.status_code == 403
        assert page_name(answer) == "not_allowed"
        assert str(LEVEL_NAMES[5]) in answer.context["reason"]
    assert not Instance.objects.exists()


def test_paused_template_says_so(cast: Cast, review: str, browser: SignIn) -> None:
    pause_version(actor=cast.actor("gwen"), name="review", number=1)
    answer = browser("ada").get("/inbox/start/review/")
    assert answer.status_code == 409
    assert notices(answer) == ["status"]


def test_unknown_template_is_not_there(cast: Cast, browser: SignIn) -> None:
    assert browser("gwen").get("/inbox/start/nothing/").status_code == 404
