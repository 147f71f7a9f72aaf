"""Being told, and answering from a message: settings, push, the page behind a mail's button, mentions, paper."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in, faults_of
from tests.browser.conftest import NewContext, SignedIn
from tests.browser.errands import Errands, send
from tests.browser.faces import FACES, WORDS, options_of
from tests.browser.pages import act, wait_until
from tests.browser.pictures import picture
from tests.browser.product import Product
from tests.browser.watching import Watch

each_look = pytest.mark.parametrize(("language", "size"), FACES)
LINK = """
from engine.models import Task
from engine.services.tasks.mail_links import link_token
from workflowplatform.accounts.models import User
print("LINK", link_token(person=User.objects.get(username="ada"), task=Task.objects.get(pk="{task}")))
"""
PUSH_SERVICE = """(endpoint) => {
  const text = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  let found = JSON.parse(localStorage.getItem("push-service") || "null");
  const made = (given) => given && { endpoint: given.endpoint, toJSON: () => given,
    unsubscribe: async () => { localStorage.removeItem("push-service"); found = null; } };
  PushManager.prototype.getSubscription = async () => made(found);
  PushManager.prototype.subscribe = async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    found = { endpoint, keys: { p256dh: text(raw), auth: text(new Uint8Array(16)) } };
    localStorage.setItem("push-service", JSON.stringify(found));
    return made(found);
  };
}"""
"""What the browser's maker runs and this machine has not: it gives out an address, and remembers it."""


def reader(signed_in: SignedIn, name: str, language: str, size: dict[str, int] | None, **options: object) -> Page:
    page = signed_in(name, locale=WORDS[language], **({"viewport": size} if size else {}), **options)
    page.goto("/inbox/")
    return page


def end_of(language: str, size: object) -> str:
    return f"{language}{'-360' if size else ''}"


@each_look
def test_settings_are_saved_as_they_change_and_undone(
    signed_in: SignedIn, watch: Watch, language: str, size: dict[str, int] | None
) -> None:
    page = reader(signed_in, "adam", language, size)
    page.goto("/inbox/notifications/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    row = page.locator('[data-kind="late"]')
    row.locator('input[value="off"]').check(force=True)
    toast = page.locator("[data-toast]").first
    expect(toast).to_be_visible()
    picture(page, f"notifications-{end_of(language, size)}")
    assert faults_in(page, FEW_LOOKS) == []
    page.reload()
    expect(row.locator('input[value="off"]')).to_be_checked()
    act(page, "defaults").click()
    expect(row.locator('input[value="once"]')).to_be_checked()


@each_look
def test_refused_permission_says_what_to_do(signed_in: SignedIn, language: str, size: dict[str, int] | None) -> None:
    page = reader(signed_in, "adam", language, size, permissions=[])
    page.goto("/inbox/notifications/")
    act(page, "push_on").click()
    expect(page.locator('[data-push-state="refused"]')).to_be_visible()
    expect(act(page, "push_on")).to_be_visible()
    assert faults_in(page, FEW_LOOKS) == []


def test_push_is_switched_on_and_off_and_a_browser_tells_one_person(signed_in: SignedIn, product: Product) -> None:
    script = f"({PUSH_SERVICE})('https://push.example.com/one')"
    pages = {}
    for name in ("adam", "uri"):
        pages[name] = page = signed_in(name, permissions=["notifications"])
        page.add_init_script(script)
        page.goto("/inbox/notifications/")
        act(page, "push_on").click()
        expect(page.locator("[data-push]")).to_have_attribute("data-push", "on")
        page.reload()
        expect(page.locator("[data-push]")).to_have_attribute("data-push", "on")
    pages["adam"].reload()
    expect(pages["adam"].locator("[data-push]")).to_have_attribute("data-push", "off")
    act(pages["uri"], "push_test").click()
    expect(pages["uri"].locator("[data-push]")).to_have_attribute("data-push", "untested")
    act(pages["uri"], "push_off").click()
    expect(pages["uri"].locator("[data-push]")).to_have_attribute("data-push", "off")
    pages["uri"].reload()
    expect(pages["uri"].locator("[data-push]")).to_have_attribute("data-push", "off")


def test_worker_of_the_browser_shows_what_is_pushed(signed_in: SignedIn, product: Product) -> None:
    page = signed_in("adam", permissions=["notifications"])
    page.goto("/inbox/notifications/")
    page.evaluate("navigator.serviceWorker.register('/inbox/push_worker.js').then(() => navigator.serviceWorker.ready)")
    tool = page.context.new_cdp_session(page)
    seen: list[str] = []
    tool.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda told: seen.extend(one["registrationId"] for one in told["registrations"]),
    )
    tool.send("ServiceWorker.enable")
    wait_until(page, lambda: bool(seen), "the registration of the worker")
    message = '{"title": "Look", "body": "at this", "url": "/inbox/", "tag": "one"}'
    tool.send(
        "ServiceWorker.deliverPushMessage", {"origin": product.address, "registrationId": seen[-1], "data": message}
    )
    shown = "async () => (await (await navigator.serviceWorker.ready).getNotifications()).map((one) => [one.title, one.body])"
    page.wait_for_function(f"async () => (await ({shown})()).length", timeout=10_000)
    assert page.evaluate(shown) == [["Look", "at this"]]


@each_look
def test_button_of_a_mail_answers_with_one_press(
    errands: Errands,
    product: Product,
    new_context: NewContext,
    watch: Watch,
    language: str,
    size: dict[str, int] | None,
) -> None:
    address = errands.run("Buy stamps")
    task = address.rstrip("/").rpartition("/")[2]
    token = re.findall(r"LINK (\S+)", product.manage_as_owner("shell", "-v", "0", "-c", LINK.format(task=task)))[0]
    options = {"locale": WORDS[language], **({"viewport": size} if size else {})}
    page = new_context(product.address, **options).new_page()
    page.goto(f"/inbox/answer/{token}/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator('[name="f.amount"]')).to_be_visible()
    picture(page, f"mail-answer-{end_of(language, size)}")
    assert faults_in(page, FEW_LOOKS) == []
    page.locator('button[name="outcome"][value="done"]').click()
    expect(page.locator('[data-error][data-code="required"]').first).to_be_visible()
    assert faults_in(page, FEW_LOOKS) == []
    page.locator('[name="f.amount"]').fill({"en": "12.50", "de": "12,50"}[language])
    page.locator('button[name="outcome"][value="done"]').click()
    expect(page.locator('[data-notice][data-code="sent"]')).to_be_visible()
    assert faults_in(page, FEW_LOOKS) == []
    page.goto(f"/inbox/answer/{token}/")
    expect(page.locator('[data-notice][data-code="answered"]')).to_be_visible()
    picture(page, f"mail-answer-used-{end_of(language, size)}")
    assert page.context.cookies() == []


@pytest.mark.parametrize(("language", "size"), FACES)
def test_names_are_completed_and_marked(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    page = signed_in("ada", **options_of(language, size))
    page.goto(errands.run("Mention someone"))
    if size:
        page.locator('[data-shows="comments"]').click()
    field = page.locator("[data-mention]").first
    field.scroll_into_view_if_needed()
    field.click()
    field.press_sequentially("See @ada", delay=30)
    field.press("Backspace")
    expect(page.locator("#said-people [role=option]").first).to_be_visible()
    assert faults_of(page) == []
    field.press("Enter")
    expect(field).to_have_value(re.compile(r"See @adam "))
    assert faults_in(page, FEW_LOOKS) == []


@pytest.mark.parametrize("language", [pytest.param("en", marks=pytest.mark.slow), "de"])
def test_case_is_a_page_of_pdf(
    signed_in: SignedIn, errands: Errands, language: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    started = send(errands.page, "instances/", {"template": "errand", "input": {"what": "Buy stamps"}})
    page = reader(signed_in, "ada", language, None)
    send(page, f"tasks/{started['tasks'][0]['id']}/complete/", {"outcome": "done", "values": {"amount": 12.5}})
    page.goto(f"/inbox/instances/{started['id']}/print/")
    page.evaluate("document.fonts.ready")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})
    picture(page, f"case-paper-{language}")
    content = page.pdf(format="A4", prefer_css_page_size=True)
    (tmp_path_factory.getbasetemp() / f"case-{language}.pdf").write_bytes(content)
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 1


@pytest.mark.parametrize(
    "address", ["/admin/engine/notification/", "/admin/engine/rolechat/", "/admin/engine/rolechat/add/"]
)
def test_operators_pages_have_no_faults(signed_in: SignedIn, address: str) -> None:
    page = signed_in("gwen")
    page.goto(address)
    assert faults_in(page, FEW_LOOKS) == []
