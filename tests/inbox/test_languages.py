"""Pages in another language: every text is translated, none is bare in a template, and each person reads their own language."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo
from django.test import Client
from django.utils import translation

from engine.access.levels import LEVEL_NAMES
from engine.access.task_rules import FOUR_EYES_STARTED, LEVEL_EQUAL, OPEN, Sentence
from engine.models import Task
from engine.services.tasks.lifecycle import claim_task
from tasks_inbox.presenters.lists import LISTS
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks
from tests.workflows import only_task, started
from workflowplatform.accounts.models import User
from workflowplatform.i18n import catalogues

READ_BY_PEOPLE = ("aria-label", "placeholder", "title", "alt", "data-busy-word", "data-word")
NAMES = {
    "Workflow",
    "· Workflow",
    "Ctrl",
    "Ctrl A",
    "d",
    "h",
    "i",
    "Ctrl K",
    "Ctrl Z",
    "A",
    "K",
    "Z",
    "Esc",
    "(Ed25519)",
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
    for path in (catalogues.ROOT / "templates").rglob("*.html")
    if not str(path.relative_to(catalogues.ROOT)).startswith(catalogues.LEFT_OUT)
)


def translations(catalogue: Catalog) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the forms of each text with those of its translation."""

    def forms(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
        return (text,) if isinstance(text, str) else tuple(text)

    return {forms(message.id): forms(message.string) for message in catalogue if message.id}


def test_the_german_catalogue_is_complete_and_fresh() -> None:
    wanted, known = catalogues.texts(), catalogues.read_catalogue("de")
    assert set(catalogues.words_in(known)) == set(catalogues.words_in(wanted)), "run manage.py translations"
    missing = catalogues.missing_in(catalogues.completed(known, wanted))
    assert missing == [], "run manage.py translations, and translate what it names in locale/de"
    with catalogues.catalogue_path("de").with_suffix(".mo").open("rb") as file:
        assert translations(read_mo(file)) == translations(known), "run manage.py translations"


def test_translated_texts_say_case_answer_and_rights() -> None:
    """People read a translated text; *instance*, *outcome* and *level* are words for programs, authors and operators."""
    ours = re.compile(r"\b(?:instance|outcome|level)s?\b", re.IGNORECASE)
    read = [re.sub(r"%\(\w+\)[sd]", "", text) for text in catalogues.words_in(catalogues.read_catalogue("de"))]
    assert [text for text in read if ours.search(text)] == []


def test_what_lacks_a_translation_or_one_of_its_forms_is_named() -> None:
    known, wanted = Catalog(locale="de"), Catalog()
    known.add("Open", "Offen")
    known.add("task", "Aufgabe")
    known.add("Gone", "Weg")
    for text in ("Open", "New", ("task", "tasks")):
        wanted.add(text)
    completed = catalogues.completed(known, wanted)
    assert catalogues.missing_in(completed) == ["New", "task"]
    assert set(catalogues.words_in(completed)) == {"Open", "New", "task", "tasks"}


def test_texts_of_pages_and_modules_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        """<p>{% translate "One" %}</p>
    {% if a %}
        <b title="{{ _("Two") }}">{% blocktranslate count n=rows %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}</b>
  {% endif %}"""
    )
    assert list(catalogues.texts_in(catalogues.page_source(page))) == ["One", "Two", ("%(n)s row", "%(n)s rows")]
    module = 'x = for_people("Three " "parts")\ny = ngettext("%d a", "%d b", n)\nz = gettext_lazy("Four")\n'
    assert list(catalogues.texts_in(module)) == ["Three parts", ("%d a", "%d b"), "Four"]


def test_translations_keep_the_places_of_values() -> None:
    places = re.compile(r"%\(\w+\)[sd]")
    known = translations(catalogues.read_catalogue("de"))
    wrong = [
        forms
        for forms, said in known.items()
        if [set(places.findall(one)) for one in forms] != [set(places.findall(one)) for one in said]
    ]
    assert wrong == []


class Bare(HTMLParser):
    """Collect texts that a template does not mark for translation."""

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
    left = re.sub(r"\{% block page_name %\}.*?\{% endblock %\}", "", left, flags=re.S)
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


def said_in(language: str, words: Any) -> str:
    """Return words of the product's tables as they are in one language."""
    with translation.override(language):
        return str(words() if callable(words) else words)


def beginning(sentence: Sentence, name: str) -> str:
    """Return what a rule says up to the moment that it names."""
    return sentence.said({"when": "|"}, name).split("|")[0]


def test_everybody_reads_their_own_language(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 1)
    ada = browser("ada")
    available = LISTS["available"].sentence
    assert str(available) in ada.get("/inbox/?view=available").content.decode()
    wished = ada.get("/inbox/?view=available", headers={"accept-language": "de"}).content.decode()
    assert '<html lang="de"' in wished
    User.objects.filter(username="ada").update(language="de")
    page = ada.get("/inbox/?view=available").content.decode()
    assert said_in("de", available) in page
    assert said_in("de", available) != said_in("en", available)
    User.objects.filter(username="ada").update(language="en")
    assert '<html lang="en"' in ada.get("/inbox/", headers={"accept-language": "de"}).content.decode()


def test_authors_and_machines_read_english_whatever_they_wish(cast: Cast, browser: SignIn) -> None:
    User.objects.filter(username="gwen").update(language="de")
    gwen = browser("gwen")
    assert '<html lang="en' in gwen.get("/admin/", headers={"accept-language": "de"}).content.decode()
    refused = gwen.get("/api/v1/instances/?limit=x", headers={"accept-language": "de"})
    assert refused.json() == gwen.get("/api/v1/instances/?limit=x", headers={"accept-language": "en"}).json()
    assert '<html lang="de"' in Client().get("/accounts/login/", headers={"accept-language": "de"}).content.decode()


# What services refuse

TOLD_IN_THE_INBOX = (
    *(f"engine/access/{name}.py" for name in ("instances", "levels", "operations", "people", "tasks", "templates")),
    "engine/storage/attachments.py",
    "engine/runtime/claims.py",
    "engine/runtime/unique_references.py",
    "engine/access/task_rules.py",
    *(
        f"engine/services/{name}.py"
        for name in (
            "instances/lifecycle", "tasks/assignment", "tasks/attachments", "tasks/bulk",
            "tasks/bulk_complete", "tasks/checklists", "tasks/comments", "tasks/drafts", "tasks/lifecycle",
            "tasks/saved_filters", "tasks/suspension",
        )
    ),
)  # fmt: skip
REFUSALS = {"Conflict": 0, "Invalid": 0, "Refused": 0, "FieldError": 2}
"""What is raised to people, and which argument is its sentence."""


def bare_refusals(tree: ast.AST) -> Iterator[int]:
    """Find the lines in which a sentence for people is written without being translated."""
    for node in ast.walk(tree):
        said: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
            said = node.args[REFUSALS[node.func.id] :][:1]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("message", "words"):
            said = [node.value]
        if any(isinstance(one, (ast.JoinedStr, ast.Constant)) and _has_words(one) for one in said):
            yield node.lineno


def _has_words(said: ast.expr) -> bool:
    parts = said.values if isinstance(said, ast.JoinedStr) else [said]
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and re.search("[a-z]{2}", part.value)
        for part in parts
    )


@pytest.mark.parametrize("name", TOLD_IN_THE_INBOX)
def test_what_a_service_refuses_can_be_said_in_every_language(name: str) -> None:
    assert list(bare_refusals(ast.parse((catalogues.ROOT / name).read_text(encoding="utf-8")))) == []


def test_a_bare_refusal_would_be_found() -> None:
    source = 'raise Conflict(f"It is {word}")\nmessage = "Not so."\nFieldError("a", "b", "Never.")\nraise Refused(_("Fine."))'
    assert sorted(bare_refusals(ast.parse(source))) == [1, 2, 3]


@pytest.fixture
def german(cast: Cast, review: str) -> Task:
    """Return a task that Ada, who reads German, began herself and must not do."""
    User.objects.filter(username__in=("ada", "gwen")).update(language="de")
    return only_task(started(cast.actor("ada"), "review", what="lunch", amount=3))


def test_why_and_refusals_speak_the_language_of_the_reader(german: Task, browser: SignIn) -> None:
    ada = browser("ada")
    why = ada.get(f"/inbox/tasks/{german.pk}/").content.decode()
    assert said_in("de", lambda: OPEN.said({})) in why
    assert said_in("de", lambda: LEVEL_EQUAL.said({"level": LEVEL_NAMES[4]})) in why
    refused = ada.post(f"/inbox/tasks/{german.pk}/claim/")
    assert refused.status_code == 403
    assert said_in("de", lambda: beginning(FOUR_EYES_STARTED, "")) in refused.content.decode()
    given = browser("gwen").post(f"/inbox/tasks/{german.pk}/assign/", {"person": "ada"}).content.decode()
    assert said_in("de", lambda: beginning(FOUR_EYES_STARTED, "Ada")) in given
    for name in ("", "Ada"):
        assert said_in("en", lambda: beginning(FOUR_EYES_STARTED, name)) not in why + refused.content.decode() + given  # noqa: B023


@pytest.mark.wording
def test_a_schema_speaks_the_language_of_who_fills_it_in(cast: Cast, german: Task, browser: SignIn) -> None:
    task = only_task(started(cast.actor("uri"), "review", what="tea", amount=3))
    sent = {"outcome": "approve", "f.granted": "500"}
    page = browser("ada").post(f"/inbox/tasks/{task.pk}/complete/", sent).content.decode()
    assert "Geben Sie höchstens 100 ein." in page
    assert "Dieses Feld ist erforderlich." in page


@pytest.mark.wording
def test_a_case_that_waits_for_the_reader_says_so_in_whole_sentences(cast: Cast, german: Task, browser: SignIn) -> None:
    task = only_task(started(cast.actor("uri"), "review", what="tea", amount=3))
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    page = browser("ada").get(f"/inbox/instances/{task.instance_id}/").content.decode()
    assert "Wartet auf Sie: „Review tea“" in page


def test_machines_read_the_same_refusals_in_english(cast: Cast, german: Task, browser: SignIn) -> None:
    ada, address = browser("ada"), f"/api/v1/tasks/{german.pk}"
    refused = ada.post(f"{address}/claim/", {}, "application/json", headers={"accept-language": "de"}).json()
    assert refused["code"] == "four_eyes"
    assert refused["detail"].startswith(said_in("en", lambda: beginning(FOUR_EYES_STARTED, "")))
    why = browser("gwen").get(f"{address}/why/?person=ada", headers={"accept-language": "de"}).json()["reasons"]
    started_by_ada = said_in("en", lambda: beginning(FOUR_EYES_STARTED, "Ada"))
    assert any(one["text"].startswith(started_by_ada) for one in why)
    task = only_task(started(cast.actor("uri"), "review", what="tea", amount=3))
    body = {"outcome": "approve", "values": {"granted": 500}}
    wrong = ada.post(
        f"/api/v1/tasks/{task.pk}/complete/", body, "application/json", headers={"accept-language": "de"}
    ).json()
    assert {error["path"]: error["code"] for error in wrong["errors"]} == {
        "values.note": "required",
        "values.granted": "maximum",
    }
    english = ada.post(
        f"/api/v1/tasks/{task.pk}/complete/", body, "application/json", headers={"accept-language": "en"}
    )
    assert wrong == english.json()
