"""What travels: pages are compressed for readers who take that, everything else goes as it is."""

import gzip
from pathlib import Path

import pytest

from tests.cast import Cast
from tests.hooks import page_name
from tests.inbox.conftest import SignIn
from workflowplatform.servers.paths import PROJECT

ZIPPED = {"Accept-Encoding": "gzip, deflate, br"}


def test_a_page_is_compressed_for_who_takes_that(cast: Cast, browser: SignIn) -> None:
    page = browser("ada").get("/inbox/?view=team", headers=ZIPPED)
    assert page["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in page["Vary"]
    assert page_name(gzip.decompress(page.content).decode()) == "list"
    assert len(page.content) < 15_000
    assert "Content-Encoding" not in browser("ada").get("/inbox/?view=team")


@pytest.mark.parametrize("address", ["/inbox/live/", "/inbox/push_worker.js", "/api/v1/tasks/", "/livez"])
def test_what_is_no_page_goes_as_it_is(cast: Cast, browser: SignIn, address: str) -> None:
    assert "Content-Encoding" not in browser("ada").get(address, headers=ZIPPED)


def test_a_file_in_pieces_goes_as_it_is(cast: Cast, browser: SignIn) -> None:
    answer = browser("ada").post("/inbox/export/", {"query": "view=team"}, headers=ZIPPED)
    assert "Content-Encoding" not in answer
    assert answer.streaming


def test_our_pages_use_no_class_of_the_style_sheet_that_was_shortened() -> None:
    sheet = Path(PROJECT / "static/vendor/tabler/tabler.elements.min.css").read_text(encoding="utf-8")
    assert len(sheet) < 20_000
    assert "{}" not in sheet
    assert sheet.count("{") == sheet.count("}")
