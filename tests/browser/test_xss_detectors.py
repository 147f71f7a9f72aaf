"""The detectors of test_xss.py can fail: on pages that escape nothing they find every payload, on safe ones none."""

from __future__ import annotations

import html
import json
import unicodedata
import urllib.parse
from collections.abc import Callable, Generator
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Page, Route

from tests.browser.chromium import Chromium, close_calmly
from tests.browser.payloads import PAYLOADS
from tests.browser.watching import Watch
from tests.browser.xss_detectors import DETECTORS, Canary, became_markup

pytestmark = pytest.mark.security("texts never become markup")

ADDRESS = "http://unsafe.invalid/"
LAST_WORDS = "that was all"
UNSAFE: dict[str, Callable[[str], str]] = {
    "as text": lambda text: f"<p>{text}</p>",
    "in double quotes": lambda text: f'<input value="{text}">',
    "in single quotes": lambda text: f"<input value='{text}'>",
    "without quotes": lambda text: f"<img src={text}>",
    "as an address": lambda text: f'<a href="{html.escape(text)}">open</a>',
    "in a script, double quotes": lambda text: f'<script>use = {{text: "{text}"}};</script>',
    "in a script, single quotes": lambda text: f"<script>use = '{text}';</script>",
    "in a script, as HTML": lambda text: f'<p></p><script>document.body.firstChild.innerHTML = "{text}"</script>',
    "in a template literal": lambda text: f"<script>use = `{text}`</script>",
    "decoded from HTML": lambda text: html.unescape(text),
    "decoded from an address": lambda text: urllib.parse.unquote(text),
    "with compatible letters": lambda text: unicodedata.normalize("NFKC", text),
    "evaluated as a template": lambda text: f"<script>{text.replace('{{', '').replace('}}', '')}</script>",
}
"""Ways to draw a text wrongly."""
SAFE: dict[str, Callable[[str], str]] = {
    "as text": lambda text: f"<p>{html.escape(text)}</p>",
    "in quotes": lambda text: f'<input value="{html.escape(text)}" data-text="{html.escape(text)}">',
    "in an address": lambda text: f'<a href="/list/?q={urllib.parse.quote(text)}">open</a>',
    "as data": lambda text: '<script type="application/json">' + json.dumps(text).replace("<", "\\u003c") + "</script>",
}
RUNS = (
    "<script>window.xss9=1</script>",
    "<img src=x onerror=window.xss9=1>",
    "<img src=x onerror=alert('xss9')>",
    "<svg onload=window.xss9=1>",
    "<iframe srcdoc='<script>parent.xss9=1</script>'></iframe>",
)
"""Payloads that run by themselves wherever they are drawn as they are."""


SILENT = "document.currentScript.remove();"
"""A script that takes itself away leaves no trace in the document."""
NO_SCRIPT = "script-src 'none'; frame-src 'none'"
ALONE: dict[str, tuple[str, str, str]] = {
    "a variable": ("variable", f"<script>{SILENT}window.xss9=1</script>", ""),
    "a dialog": ("dialog", f"<script>{SILENT}alert('any words')</script>", ""),
    "a question": ("dialog", f"<script>{SILENT}confirm('any words')</script>", ""),
    "a request of a payload": ("request", f"<script>{SILENT}new Image().src='//xss9.invalid/a.png'</script>", ""),
    "a stopped script": ("policy", "<script>window.any=1</script>", NO_SCRIPT),
    "a stopped event": ("policy", "<img src=/a.png onload=any()>", NO_SCRIPT),
    "a stopped style": ("policy", "<p style=color:red>", "style-src 'none'"),
    "a new element": ("markup", "<xss9-a></xss9-a>", ""),
    "a new attribute": ("markup", "<p xss9=1>", ""),
    "an event that waits": ("markup", "<p onclick=window.xss9=1>", ""),
    "an htmx attribute": ("markup", "<p hx-get=/xss9>", ""),
    "an Alpine attribute": ("markup", "<p x-init=window.xss9=1>", ""),
    "a style attribute": ("markup", "<p style='--a:xss9'>", ""),
    "a link that runs": ("markup", "<a href=javascript:window.xss9=1>x</a>", ""),
    "a link elsewhere": ("markup", "<a href=//xss9.invalid/>x</a>", ""),
    "a script of another type": ("markup", "<script type=text/x-any>xss9</script>", ""),
    "a style sheet": ("markup", "<style>.xss9{}</style>", ""),
    "a comment": ("markup", "<!-- xss9 -->", ""),
    "an inert template": ("markup", "<template><p onclick=window.xss9=1></template>", ""),
    "an error": ("watch", f"<script>{SILENT}throw new Error('any words')</script>", ""),
    "words in the console": ("watch", f"<script>{SILENT}console.error('any words')</script>", ""),
    "a request elsewhere": ("watch", f"<script>{SILENT}new Image().src='//elsewhere.invalid/a.png'</script>", ""),
}
"""Unsafe pages, each with its policy, and the one detector that notices them."""
HOSTS_OF_PAYLOADS = "xss9.invalid"


@pytest.fixture
def watch() -> Watch:
    """Return a watch whose complaints fail nothing: here they are what is looked for."""
    return Watch()


@pytest.fixture
def page(chromium: Chromium, watch: Watch) -> Generator[Page, None, None]:
    """Provide a page that reaches nothing, watched as every page of the product is."""
    context = chromium.new_context()
    watch.over(context, ADDRESS)
    yield context.new_page()
    close_calmly(context)


def serve(page: Page, drawn: str, policy: str = "") -> None:
    """Serve a page from inside the browser; whatever else it asks for is empty."""
    document = f"<!doctype html><html><head><title>Unsafe</title></head><body>{drawn}</body></html>"

    def answer(route: Route) -> None:
        if route.request.url == ADDRESS and route.request.is_navigation_request():
            headers = {
                "Content-Type": "text/html; charset=utf-8",
                **({"Content-Security-Policy": policy} if policy else {}),
            }
            route.fulfill(headers=headers, body=document)
        else:
            route.fulfill(status=204)

    page.unroute("**/*")
    page.route("**/*", answer)
    page.goto(ADDRESS, wait_until="load")
    let_it_be_heard(page)


def let_it_be_heard(page: Page) -> None:
    """Wait until all that the page said while it was loaded has arrived: it comes in the order in which it was said."""
    with suppress(Error), page.expect_console_message(lambda message: message.text == LAST_WORDS):
        page.evaluate(f"requestAnimationFrame(() => setTimeout(() => console.log('{LAST_WORDS}')))")


@pytest.mark.slow
@pytest.mark.parametrize("unsafe", ALONE)
def test_each_detector_alone_notices_what_no_other_does(
    page: Page, watch: Watch, unsafe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blinding all others changes nothing, blinding this one lets the page pass."""
    name, drawn, policy = ALONE[unsafe]
    canary = Canary(page, watch)
    serve(page, drawn, policy)
    watch.complaints = [words for words in watch.complaints if is_its_own(name, words)]
    assert set(canary.noticed()) == {name}
    monkeypatch.setitem(DETECTORS, name, lambda canary: [])
    assert canary.noticed() == {}


def is_its_own(name: str, complaint: str) -> bool:
    """Return whether Watch must hear this: it also hears, in its own words, what the policy stops and payloads ask for."""
    return name == "watch" or not (HOSTS_OF_PAYLOADS in complaint or "Content Security Policy" in complaint)


def test_every_detector_has_a_page_that_it_alone_notices() -> None:
    assert {name for name, _, _ in ALONE.values()} == set(DETECTORS)


def test_no_detector_complains_of_a_safe_page(page: Page, watch: Watch) -> None:
    canary = Canary(page, watch)
    serve(page, "\n".join(draw(payload) for draw in SAFE.values() for payload in PAYLOADS))
    assert canary.noticed() == {}


@pytest.mark.slow
@pytest.mark.parametrize("payload", RUNS)
def test_the_canary_hears_what_runs(page: Page, payload: str) -> None:
    canary = Canary(page)
    serve(page, UNSAFE["as text"](payload))
    assert canary.ran() != []


@pytest.mark.slow
@pytest.mark.parametrize("payload", RUNS)
def test_markup_is_found_although_a_policy_stops_it(page: Page, payload: str) -> None:
    canary = Canary(page)
    serve(page, UNSAFE["as text"](payload), policy="script-src 'none'; frame-src 'none'")
    assert became_markup(page) != []
    assert canary.ran() == []


def test_a_run_without_a_trace_in_the_document_is_heard(page: Page) -> None:
    canary = Canary(page)
    serve(page, "<script>window.xss9=1;document.currentScript.remove()</script>")
    assert (became_markup(page), canary.ran()) == ([], ["xss9"])


@pytest.mark.slow
@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_payload_is_found_on_an_unsafe_page(page: Page, payload: str) -> None:
    """A payload that no wrong page gives away tests nothing."""
    canary = Canary(page)
    for draw in UNSAFE.values():
        serve(page, draw(payload))
        try:
            found = canary.ran() or became_markup(page)
        except Error:  # the document is gone while it is looked at
            found = canary.asked
        if found:
            return
    pytest.fail("no unsafe page gives this payload away")
