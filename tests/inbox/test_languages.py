"""Pages in another language: every text has its words, none stands bare in a template, and each person reads their own."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client

from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks
from workflowplatform import wording
from workflowplatform.accounts.models import User

READ_BY_PEOPLE = ("aria-label", "placeholder", "title", "alt", "data-busy-word", "data-word")
NAMES = {
    "Workflow",
    "· Workflow",
    "Ctrl",
    "Enter",
    "j",
    "k",
    "x",
    "c",
    "r",
    "a",
    "e",
    "z",
    "n",
    "m",
    "w",
    "u",
    "g",
    "Ctrl ↵",
}
"""What is the same in every language: the product's name, and keys."""
PAGES = sorted(
    path
    for path in (wording.ROOT / "templates").rglob("*.html")
    if not str(path.relative_to(wording.ROOT)).startswith(wording.LEFT_OUT)
)


def test_the_german_catalogue_is_complete_and_fresh() -> None:
    path = wording.catalogue_path("de")
    known = wording.read_catalogue(path)
    missing = [text.one for text in wording.missing_in(known, wording.texts())]
    assert missing == [], "run manage.py translations, and translate what it names in locale/de"
    assert path.with_suffix(".mo").read_bytes() == wording.compiled("de", known), "run manage.py translations"


def test_translations_keep_the_places_of_values() -> None:
    known = wording.read_catalogue(wording.catalogue_path("de"))
    places = re.compile(r"%\(\w+\)[sd]")
    wrong = [
        one
        for one, entry in known.items()
        if any(set(places.findall(one)) != set(places.findall(word)) for word in entry.said)
    ]
    assert wrong == []


class Bare(HTMLParser):
    """Collect texts that stand in a template as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self._keep(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in READ_BY_PEOPLE and value:
                self._keep(value)

    def _keep(self, text: str) -> None:
        said = text.strip()
        if re.search(r"[A-Za-z]", said) and said not in NAMES:
            self.found.append(said)


def bare_texts(source: str) -> list[str]:
    """Take out what is translated or filled in, and give the words that are left."""
    left = re.sub(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", "", source, flags=re.S)
    left = re.sub(r"\{% blocktranslate.*?\{% endblocktranslate %\}", "", left, flags=re.S)
    reader = Bare()
    reader.feed(re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", left, flags=re.S))
    return reader.found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_text_stands_bare_in_a_page(path: Path) -> None:
    assert bare_texts(path.read_text(encoding="utf-8")) == []


def test_a_bare_text_would_be_found() -> None:
    source = '<p>{% translate "Fine" %} <b>Not fine</b> {{ value }}</p><a aria-label="Nor this">·</a>'
    assert bare_texts(source) == ["Not fine", "Nor this"]


def test_everybody_reads_their_own_language(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 1)
    ada = browser("ada")
    assert "You may claim any of these." in ada.get("/inbox/?view=available").content.decode()
    wished = ada.get("/inbox/?view=available", headers={"accept-language": "de"}).content.decode()
    assert '<html lang="de"' in wished
    User.objects.filter(username="ada").update(language="de")
    page = ada.get("/inbox/?view=available").content.decode()
    assert "Sie dürfen jede davon übernehmen." in page
    assert "1 Aufgabe" in page
    assert "Tastenkürzel" in page
    User.objects.filter(username="ada").update(language="en")
    assert '<html lang="en"' in ada.get("/inbox/", headers={"accept-language": "de"}).content.decode()


def test_authors_and_machines_read_english_whatever_they_wish(cast: Cast, browser: SignIn) -> None:
    User.objects.filter(username="gwen").update(language="de")
    gwen = browser("gwen")
    assert "Abmelden" not in gwen.get("/admin/", headers={"accept-language": "de"}).content.decode()
    refused = gwen.get("/api/v1/instances/?limit=x", headers={"accept-language": "de"})
    assert refused.json()["detail"] == "Ask for 1 to 200."
    assert "Anmelden" in Client().get("/accounts/login/", headers={"accept-language": "de"}).content.decode()
