"""Lists as each person wants them: which one opens first, which columns they have, and a list as a file."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine.models import Audit, ListSettings, SavedFilter, Task
from engine.services.tasks import list_exports
from engine.services.tasks.saved_filters import Sharing, save_filter
from tests.cast import Cast
from tests.hooks import acts, codes, errors, text_of, toasts, value, values
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks
from tests.workflows import activated, hurried, only_task, started

CLAIMS = """
workflow: claims
title: Claims
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}, amount: {type: number}}}
reference: {key: "${'CL-' + start.what}"}
steps:
  - id: check
    task:
      title: "${start.what}"
      roles: [finance]
      columns: {amount: "${start.amount}", place: "${start.what}"}
"""


@pytest.fixture
def claims(cast: Cast) -> list[Task]:
    activated(cast.actor("gwen"), CLAIMS)
    uri = cast.actor("uri")
    return [
        only_task(started(uri, "claims", what=what, amount=amount)) for what, amount in (("Rome", 1264.5), ("Oslo", 8))
    ]


def columns(page: Any) -> list[str]:
    return value("columns", page).split()


# The list with which the inbox opens


def test_the_inbox_opens_with_the_list_that_a_person_chose(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 1)
    ada = browser("ada")
    assert value("list", ada.get("/inbox/")) == "mine"
    answer = ada.post("/inbox/first/", {"view": "available", "back": "view=available"}, follow=True)
    assert toasts(answer) == ["first.saved"]
    assert "open_usual" in acts(answer)
    assert ada.get("/inbox/")["Location"] == "/inbox/?view=available"
    assert value("list", ada.get("/inbox/?view=mine")) == "mine"
    assert value("list", browser("adam").get("/inbox/")) == "mine"
    ada.post("/inbox/first/", {"back": "view=available"})
    assert value("list", ada.get("/inbox/")) == "mine"


def test_every_link_to_mine_says_so_whatever_opens_first(cast: Cast, review: str, browser: SignIn) -> None:
    ada = browser("ada")
    assert re.search(r'href="/inbox/\?view=mine"[^>]*data-nav="mine"', text_of(ada.get("/inbox/")))


def test_a_saved_filter_shared_with_a_role_can_open_first_until_it_is_seen_no_more(
    cast: Cast, review: str, browser: SignIn
) -> None:
    query = "view=team&role=finance"
    saved = save_filter(actor=cast.actor("gwen"), name="Finance", query=query, sharing=Sharing(role="finance"))
    ada = browser("ada")
    ada.post("/inbox/first/", {"filter": str(saved.pk), "back": query})
    assert ada.get("/inbox/")["Location"] == f"/inbox/?{query}"
    SavedFilter.objects.update(query="view=team&role=finance&due=late")
    assert ada.get("/inbox/")["Location"] == f"/inbox/?{query}&due=late"
    for gone in ({"deleted_at": timezone.now()}, {"deleted_at": None, "role": None}):
        SavedFilter.objects.update(**gone)
        assert ada.get("/inbox/").status_code == 200
    assert browser("adam").post("/inbox/first/", {"filter": str(saved.pk)}).status_code == 404
    assert browser("sam").post("/inbox/first/", {"filter": str(saved.pk)}).status_code == 404


@pytest.mark.parametrize("sent", [{"view": "nonsense"}, {"view": "mine"}, {}])
def test_what_is_no_list_opens_as_usual(cast: Cast, browser: SignIn, sent: dict[str, str]) -> None:
    ada = browser("ada")
    ada.post("/inbox/first/", sent)
    assert ada.get("/inbox/").status_code == 200


def test_a_list_for_a_level_that_was_lost_opens_no_more(cast: Cast, review: str, browser: SignIn) -> None:
    ada = browser("ada")
    ada.post("/inbox/first/", {"view": "team"})
    cast.ada.level = 3
    cast.ada.save(update_fields=["level"])
    assert ada.get("/inbox/").status_code == 200


# Columns


def test_columns_are_a_persons_own_and_of_one_list(cast: Cast, claims: list[Task], browser: SignIn) -> None:
    ada, usual = browser("ada"), ["priority", "case", "reference", "details", "starter", "holder", "due"]
    address = "/inbox/?view=available&template=claims"
    assert columns(ada.get(address)) == usual
    chosen = {"column": ["reference", "opened", "column.amount"], "back": "view=available&template=claims"}
    answer = ada.post("/inbox/columns/", chosen, follow=True)
    assert (toasts(answer), columns(answer)) == (["columns.saved"], ["reference", "opened", "column.amount"])
    assert values("cell", answer) == ["opened", "column.amount"] * 2
    assert "1,264.5" in text_of(answer)
    assert values("who", answer) == []
    assert columns(browser("ada").get("/inbox/?view=available")) == ["reference", "opened", "column.amount"]
    assert columns(ada.get("/inbox/?view=team")) == usual
    answer = browser("adam").get("/inbox/?view=team")
    assert columns(answer) == usual
    back = ada.post("/inbox/columns/", {"usual": "1", "back": "view=available"}, follow=True)
    assert columns(back) == usual


def test_a_declared_column_with_a_place_of_its_own_is_not_said_twice(
    cast: Cast, claims: list[Task], browser: SignIn
) -> None:
    ada = browser("ada")
    ada.post("/inbox/columns/", {"column": ["details", "column.amount"], "back": "view=available"})
    html = text_of(ada.get("/inbox/?view=available"))
    assert html.count("1,264.5") == 1


def test_nonsense_among_columns_is_left_out_and_four_declared_ones_at_most(cast: Cast, browser: SignIn) -> None:
    names = ["due", "due", "nonsense", "column.a.min", *(f"column.c{number}" for number in range(9))]
    browser("ada").post("/inbox/columns/", {"column": names, "back": "view=later"})
    kept = ListSettings.objects.get().columns
    assert kept == {"snoozed": ["due", "column.c0", "column.c1", "column.c2", "column.c3"]}
    ListSettings.objects.update(columns={"mine": "broken", "available": [1, None, "due"]})
    assert browser("ada").get("/inbox/?view=available").status_code == 200
    assert browser("ada").get("/inbox/").status_code == 200


def test_columns_cost_no_query_more(
    cast: Cast, claims: list[Task], browser: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ada = browser("ada")
    ada.post("/inbox/columns/", {"column": ["opened", "starter", "column.amount"], "back": "view=available"})
    with django_assert_max_num_queries(15):
        ada.get("/inbox/?view=available")


# A list as a file


def exported(client: Client, query: str, separator: str = ",") -> list[dict[str, str]]:
    answer = client.post("/inbox/export/", {"query": query})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:]), delimiter=separator))


def column(rows: list[dict[str, str]], number: int) -> list[str]:
    return [list(row.values())[number] for row in rows]


def test_a_list_is_exported_as_its_pages_show_it(cast: Cast, claims: list[Task], browser: SignIn) -> None:
    some = {"view=available": ["Rome", "Oslo"], "view=available&q=oslo": ["Oslo"], "view=mine": []}
    assert {query: column(exported(browser("ada"), query), 0) for query in some} == some
    assert column(exported(browser("adam"), "view=team"), 0) == ["Rome", "Oslo"]
    for nobody in ("uri", "adam", "sam"):
        assert exported(browser(nobody), "view=available") == []
    assert exported(browser("sam"), "view=team") == []
    assert exported(browser("uri"), "view=team") == []


def test_an_export_has_every_page_in_the_order_of_the_list(
    cast: Cast, claims: list[Task], browser: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_exports, "PORTION", 1)
    for order, found in (("newest", ["Oslo", "Rome"]), ("oldest", ["Rome", "Oslo"])):
        assert column(exported(browser("ada"), f"view=available&sort={order}"), 0) == found
    assert column(exported(browser("ada"), "view=available"), 0) == ["Rome", "Oslo"]


def test_an_export_says_where_it_was_cut_off(
    cast: Cast, claims: list[Task], browser: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_exports, "MOST_EXPORTED", 1)
    rows = exported(browser("ada"), "view=available")
    assert column(rows, 0)[0] == "Rome"
    assert len(rows) == 2
    assert list(rows[1].values())[1] is None
    monkeypatch.setattr(list_exports, "MOST_EXPORTED", 2)
    assert column(exported(browser("ada"), "view=available"), 0) == ["Rome", "Oslo"]


def test_no_cell_is_taken_for_a_formula(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), CLAIMS)
    texts = ["=1+1", "+cmd", "-cmd", "@sum", "\tx", "\rx", "＝1", "-12.5", "a=b"]
    for text in texts:
        started(cast.actor("uri"), "claims", what=text, amount=-3)
    rows = exported(browser("ada"), "view=available&template=claims&sort=oldest")
    assert len(rows) == len(texts)
    for row in rows:
        for cell in row.values():
            assert not cell.startswith(("=", "+", "@", "\t", "\r", "＝")), row
            assert not cell.startswith("-") or re.fullmatch(r"-[\d.,]+", cell), row


def test_headings_times_and_separators_are_the_readers(cast: Cast, claims: list[Task], browser: SignIn) -> None:
    hurried(claims[0], due_at=datetime(2027, 1, 15, 11, 30, tzinfo=UTC))
    english = exported(browser("ada"), "view=available&template=claims")[0]
    assert "2027-01-15 11:30" in english.values()
    cast.ada.language, cast.ada.time_zone = "de", "Europe/Berlin"
    cast.ada.save(update_fields=["language", "time_zone"])
    german = exported(browser("ada"), "view=available&template=claims", ";")[0]
    assert "15.01.2027 12:30" in german.values()
    assert any("Europe/Berlin" in heading for heading in german)
    assert "1.264,5" in " ".join(german.values())
    assert english.keys() != german.keys()
    for row in (english, german):
        assert list(row.values())[-1].endswith(f"/inbox/tasks/{claims[0].pk}/")


def test_an_export_is_audited_before_its_first_row_leaves(cast: Cast, claims: list[Task], browser: SignIn) -> None:
    browser("ada").post("/inbox/export/", {"query": "view=available&q=rome&nonsense=1"})
    act = Audit.objects.filter(action="export_tasks").get()
    assert (act.actor_name, act.subject_id, act.new) == ("ada", cast.ada.pk, {"list": "view=available&q=rome"})


def test_an_export_costs_one_query_per_portion(
    cast: Cast, claims: list[Task], browser: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada = browser("ada")
    exported(ada, "view=team")
    some = ada.post("/inbox/export/", {"query": "view=team"})
    with django_assert_num_queries(2):
        assert b"".join(some.streaming_content)  # type: ignore[attr-defined]


# The page of saved filters


def test_the_page_of_saved_filters_offers_what_each_may_do(cast: Cast, review: str, browser: SignIn) -> None:
    save_filter(actor=cast.actor("ada"), name="Alone", query="view=mine&due=late")
    save_filter(
        actor=cast.actor("ada"), name="Finance", query="view=team&role=finance", sharing=Sharing(role="finance")
    )
    html = text_of(browser("ada").get("/inbox/filters/"))
    assert values("shared-with", html) == ["", "finance"]
    assert html.count('data-act="edit_filter"') == html.count('data-act="delete_filter"') == 2
    html = text_of(browser("adam").get("/inbox/filters/"))
    assert values("shared-with", html) == ["finance"]
    assert "edit_filter" not in acts(html)
    assert "delete_filter" not in acts(html)
    assert value("empty", browser("uri").get("/inbox/filters/")) == "filters"


def test_a_filter_is_renamed_and_shared_on_its_page(cast: Cast, review: str, browser: SignIn) -> None:
    saved = save_filter(actor=cast.actor("ada"), name="Alone", query="view=mine&due=late")
    ada, address = browser("ada"), f"/inbox/filters/{saved.pk}/"
    sent = {"name": "<b>Ours</b>", "share": "role:finance", "editable": "yes"}
    assert toasts(ada.post(address, sent, follow=True)) == ["filter.changed"]
    saved.refresh_from_db()
    assert (saved.name, Sharing.of(saved)) == ("<b>Ours</b>", Sharing(role="finance", editable=True))
    assert "&lt;b&gt;Ours&lt;/b&gt;" in text_of(ada.get(address))
    wrong = ada.post(address, {"name": "  "})
    assert (wrong.status_code, errors(wrong)) == (400, ["invalid"])
    assert browser("sam").get(address).status_code == 404
    assert browser("uri").post(address, {"name": "x"}).status_code == 404
    assert browser("adam").post(address, {"name": "Adam’s"}).status_code == 302
    saved.refresh_from_db()
    assert (saved.name, Sharing.of(saved)) == ("Adam’s", Sharing(role="finance", editable=True))


def test_a_list_replaces_what_a_saved_filter_asks_for(cast: Cast, review: str, browser: SignIn) -> None:
    saved = save_filter(actor=cast.actor("ada"), name="Late", query="view=mine&due=late")
    ada = browser("ada")
    assert "replace_filter" in acts(ada.get("/inbox/?view=team&due=week"))
    answer = ada.post("/inbox/filters/", {"replace": str(saved.pk), "query": "view=team&due=week&nonsense=1"})
    assert answer["Location"] == "/inbox/?view=team&due=week"
    saved.refresh_from_db()
    assert (saved.name, saved.query) == ("Late", "view=team&due=week")
    assert toasts(ada.post("/inbox/filters/", {"replace": "x", "query": "view=mine"}, follow=True)) == ["invalid"]
    assert browser("sam").post("/inbox/filters/", {"replace": str(saved.pk), "query": "view=mine"}).status_code == 404


# Bulk actions


def test_the_result_of_a_bulk_action_can_be_read_again_by_who_asked_only(
    cast: Cast, review: str, browser: SignIn
) -> None:
    tasks = [*some_tasks(cast, 2), only_task(started(cast.actor("ada"), "review", what="own", amount=1))]
    ada = browser("ada")
    rows = {"task": [str(task.pk) for task in tasks], "action": "claim", "back": "view=available&role=finance"}
    address = ada.post("/inbox/bulk/", rows)["Location"]
    for _again in range(2):
        html = text_of(ada.get(address))
        assert codes("result", html) == ["four_eyes", "done", "done"]
    assert 'href="/inbox/?view=available&amp;role=finance"' in html
    assert codes("result", ada.get(f"{address}?show=left")) == ["four_eyes"]
    assert codes("result", ada.get(f"{address}?show=done")) == ["done", "done"]
    assert address in text_of(ada.get("/inbox/results/"))
    for other in ("adam", "gwen", "sam"):
        assert browser(other).get(address).status_code == 404
        assert value("empty", browser(other).get("/inbox/results/")) == "bulk_reports"


def test_a_bulk_action_that_was_done_whole_is_kept_too(cast: Cast, review: str, browser: SignIn) -> None:
    tasks, ada = some_tasks(cast, 2), browser("ada")
    rows = {"task": [str(task.pk) for task in tasks], "action": "claim", "back": "view=available"}
    assert ada.post("/inbox/bulk/", rows)["Location"] == "/inbox/?view=available"
    assert len(values("report", ada.get("/inbox/results/"))) == 1
    assert (
        "bulk_reports" in acts(ada.get("/inbox/?view=done")) or value("empty", ada.get("/inbox/?view=done")) == "done"
    )


def test_results_are_deleted_after_thirty_days(cast: Cast, review: str, browser: SignIn) -> None:
    from engine.models import BulkReport
    from engine.services.retention.purge import apply_retention

    tasks, ada = some_tasks(cast, 1), browser("ada")
    ada.post("/inbox/bulk/", {"task": [str(tasks[0].pk)], "action": "claim", "back": "view=available"})
    BulkReport.objects.update(created_at=timezone.now() - timedelta(days=29))
    assert apply_retention().bulk_reports == 0
    BulkReport.objects.update(created_at=timezone.now() - timedelta(days=31))
    assert apply_retention().bulk_reports == 1
    assert not BulkReport.objects.exists()
