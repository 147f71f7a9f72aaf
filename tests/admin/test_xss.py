"""No text of anybody becomes markup: every field holds payloads, every page is read as a browser's parser would."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db.models import Model
from django.urls import reverse

from engine.models import Task
from engine.services.instances.lifecycle import start_instance
from engine.services.tasks.comments import comment_task
from engine.services.templates.versions import activate_version, save_draft
from tests.admin.conftest import SignIn
from tests.browser.payloads import MARKER, PAYLOADS, authored, code_of, inject
from tests.browser.xss_fields import NOT_SEEN, WRITTEN, seen_wrongly
from tests.browser.xss_mails import mails_to, pages_without_a_mail
from tests.browser.xss_rows import seed_rows
from tests.cast import Cast
from workflowplatform.accounts.actor import Actor

HREF = re.compile(r'(?:href|src|action)="(/[^"#]*)"')
ACTIVE = re.compile(r"^(on|hx-|x-|@|:|v-)|^(srcdoc|style|background|formaction)$")
ADDRESSES = {"content", "href", "src", "action", "data", "formaction", "poster", "xlink:href"}
RAW = ("script", "style")
LEADS_AWAY = ("/accounts/logout", "/admin/logout", "/static/", "/admin/jsi18n", "/inbox/live", "/api/")
MOST_PAGES = 25
ONLY_ELSEWHERE = frozenset(
    payload
    for payload in PAYLOADS
    if not re.search(r"[<>\"']", payload)
    or payload.startswith(("&", "<!--", "\\", "%3C", "＜", "{", "data:", '"}', "';"))
)
"""Payloads for addresses, scripts, templates and decoders: as text or attribute they are nothing but words."""


class Reader(HTMLParser):
    """Find what a payload became: an element, an event, a style, an address that runs, a script."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.elements = 0
        self._raw: str | None = None
        self._held = ""

    def handle_comment(self, data: str) -> None:
        if MARKER in data:
            self.faults.append(f"a comment holds {data[:80]!r}")

    unknown_decl = handle_comment

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements += 1
        if MARKER in tag:
            self.faults.append(f"<{tag}> is an element")
        for name, value in attrs:
            text = value or ""
            if MARKER in name or (MARKER in text and ACTIVE.search(name)):
                self.faults.append(f"<{tag} {name}={text[:80]!r}>")
            if MARKER in text and name in ADDRESSES and (not text.startswith(("/", "?", "#")) or text.startswith("//")):
                self.faults.append(f"<{tag}> leads to {text[:80]!r}")
        self._raw, self._held = (dict(attrs).get("type") or tag if tag in RAW else None), ""

    def handle_endtag(self, tag: str) -> None:
        if tag in RAW:
            self._judge_raw()

    def handle_data(self, data: str) -> None:
        if self._raw:
            self._held += data

    def close(self) -> None:
        super().close()
        self._judge_raw()

    def _judge_raw(self) -> None:
        """Judge what a script or style holds: data may be quoted in JSON, nothing else may be there."""
        if MARKER in self._held:
            try:
                is_data = self._raw == "application/json" and json.loads(self._held) is not None
            except ValueError:
                is_data = False
            if not is_data:
                self.faults.append(f"a {self._raw} holds {self._held[:80]!r}")
        self._raw, self._held = None, ""


def faults_of(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader.faults


@pytest.mark.parametrize("payload", [payload for payload in PAYLOADS if payload not in ONLY_ELSEWHERE])
def test_the_reader_finds_what_is_not_escaped(payload: str) -> None:
    """A check that cannot fail is a defect: drawn as they are, in a text or in an attribute, payloads are found."""
    drawn = Reader()
    drawn.feed(f"<p>{payload}</p>")
    drawn.close()
    assert (
        drawn.faults or drawn.elements > 1 or faults_of(f'<p title="{payload}">') or faults_of(f"<p title='{payload}'>")
    )


def test_the_corpus_is_large_and_marked() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 40
    assert all(MARKER in payload for payload in PAYLOADS)


@pytest.fixture
def marked(cast: Cast, gwen: Actor, acmes: dict[str, Model]) -> dict[str, int]:
    """Return a world in which every text is a payload."""
    save_draft(actor=gwen, source=authored())
    activate_version(actor=gwen, name="marked", number=1)
    start_instance(actor=gwen, template="marked", input={"free": PAYLOADS[3]})
    for task in Task.objects.open():
        comment_task(actor=gwen, task_id=task.pk, text=PAYLOADS[11])
    return inject()


@pytest.mark.security("texts never become markup")
@pytest.mark.django_db
def test_no_text_becomes_markup(
    marked: dict[str, int], sign_in: SignIn, acmes: dict[str, Model], record_property: Any
) -> None:
    seen: dict[str, int] = {}
    faults: dict[str, list[str]] = {}
    rows = [reverse(f"admin:{key.replace('.', '_')}_change", args=[row.pk]) for key, row in acmes.items()]
    tasks = [f"/inbox/tasks/{task.pk}/" for task in Task.objects.all()]
    cases = [f"/inbox/instances/{task.instance_id}/" for task in Task.objects.all()]
    own = ["/inbox/away/", "/inbox/questions/", "/inbox/notifications/"]
    inbox = ["/inbox/", "/inbox/start/marked/", *own, *tasks, *cases]
    for person, begins in (("gwen", [*rows, "/admin/", *own]), ("ada", inbox)):
        client = sign_in(person)
        left = list(begins)
        own = 0
        while left and own < MOST_PAGES:
            address = left.pop(0)
            if address in seen or address.startswith(LEADS_AWAY):
                continue
            answer = client.get(address)
            own += 1
            seen[address] = answer.status_code
            if not answer.get("Content-Type", "").startswith("text/html") or answer.streaming:
                continue
            page = answer.content.decode()
            if found := faults_of(page):
                faults[address] = found
            left += [link for link in HREF.findall(page) if "?" not in link]
    record_property("figure", f"{len(PAYLOADS)} payloads, {len(marked)} fields, {len(seen)} pages")
    assert faults == {}
    assert {address: status for address, status in seen.items() if status >= 500} == {}
    assert sum(status == 200 for status in seen.values()) > 25, seen


@pytest.mark.security("texts never become markup")
@pytest.mark.django_db
def test_every_written_field_is_on_a_page_or_has_its_reason(
    gwen: Actor, acmes: dict[str, Model], sign_in: SignIn, record_property: Any
) -> None:
    """The pages of seeded rows, as the test client gets them; the same is asked of Chromium in tests/browser."""
    pages = seed_rows(gwen)
    assert [name for name, rows in inject().items() if not rows] == [], "seed a row in xss_rows.py"
    shown: set[str] = set()
    faults: dict[str, list[str]] = {}
    mails = mails_to("gwen")
    for name, html in mails.items():
        shown |= set(re.findall(rf"{MARKER}q\d{{3}}", html))
        if found := faults_of(html):
            faults[name] = found
    assert pages_without_a_mail(mails) == set()
    for person, of_theirs in {"gwen": "/", "zoe": "/admin/accounts/tenant/"}.items():
        client = sign_in(person)
        for address in (address for address in pages if address.startswith(of_theirs)):
            page = client.get(address, follow=True).content.decode()
            shown |= set(re.findall(rf"{MARKER}q\d{{3}}", page))
            if found := faults_of(page):
                faults[address] = found
    assert faults == {}
    assert seen_wrongly(shown, code_of) == {}
    record_property(
        "figure", f"{len(WRITTEN) - len(NOT_SEEN)} fields shown, {len(NOT_SEEN)} with a reason, {len(mails)} HTML mails"
    )
