"""The admin's menus, tabs and switches work under a policy that forbids eval, on every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import unfold
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn
from tests.browser.test_admin_pages import OF_LEVEL_SIX, addresses_of, furnished  # noqa: F401  a fixture
from tests.browser.watching import Watch
from workflowplatform.servers.paths import PROJECT

NAVIGATION = "#nav-sidebar"
VIOLATIONS = """
window.violations = [];
addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(event.violatedDirective + ' ' + event.blockedURI);
});
"""

EVALUATES = """
() => new Promise((seen) => {
  addEventListener('securitypolicyviolation', () => seen());
  setTimeout(() => { try { window.eval('1') } catch { } });
})
"""
"""Later, because what the debugger itself runs may evaluate."""


def violations_at(page: Page, address: str) -> list[str]:
    answer = page.goto(address, wait_until="load")
    assert answer
    assert "unsafe-eval" not in answer.headers["content-security-policy"], address
    expect(page.locator("html[x-cloak]")).to_have_count(0)
    found: list[str] = page.evaluate("window.violations")
    return found


@pytest.mark.slow
@pytest.mark.security("answers carry safe headers and are kept by nobody")
def test_no_page_of_the_admin_needs_eval(signed_in: SignedIn, furnished: Page) -> None:  # noqa: F811
    """What Alpine cannot read it tells the console, and the watch over all pages complains of that."""
    gwen, zoe = furnished, signed_in("zoe")
    zoe.goto("/admin/")
    pages = [(gwen, address) for address in addresses_of(gwen, "admin/", without=OF_LEVEL_SIX)]
    pages += [(zoe, address) for address in addresses_of(zoe, *OF_LEVEL_SIX)]
    for page in (gwen, zoe):
        page.add_init_script(VIOLATIONS)
    assert {address: found for page, address in pages if (found := violations_at(page, address))} == {}
    assert len(pages) > 50


def test_a_page_that_evaluates_is_seen(signed_in: SignedIn, watch: Watch) -> None:
    gwen = signed_in("gwen")
    gwen.add_init_script(VIOLATIONS)
    gwen.goto("/admin/")
    gwen.evaluate(EVALUATES)
    assert gwen.evaluate("window.violations") == ["script-src eval"]
    assert len(watch.complaints) == 1
    watch.complaints.clear()


def test_the_theme_is_switched_and_remembered(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", color_scheme="light")
    gwen.goto("/admin/")
    gwen.get_by_role("button", name=re.compile("Gwen")).first.click()
    gwen.locator("[x-on\\:click=\"switchTheme('dark')\"]").filter(visible=True).click()
    expect(gwen.locator("html")).to_have_class("dark")
    gwen.reload()
    expect(gwen.locator("html")).to_have_class("dark")


def test_the_sidebar_is_hidden_and_stays_hidden(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/")
    link = gwen.locator("#nav-sidebar a[href$='/engine/deadletter/']").first
    expect(link).to_be_visible()
    gwen.get_by_role("button", name="Show or hide the navigation").filter(visible=True).click()
    expect(link).not_to_be_visible()
    gwen.reload()
    expect(link).not_to_be_visible()
    gwen.get_by_role("button", name="Show or hide the navigation").filter(visible=True).click()
    expect(link).to_be_visible()


def test_filters_open_and_close(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/engine/instance/")
    chosen = gwen.get_by_role("link", name="incident", exact=True)
    expect(chosen).not_to_be_visible()
    gwen.get_by_role("button", name="Filters", exact=True).click()
    expect(chosen).to_be_visible()
    gwen.keyboard.press("Escape")
    expect(chosen).not_to_be_visible()


def test_a_slash_goes_to_the_search(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/engine/instance/")
    gwen.keyboard.press("/")
    expect(
        gwen.locator("#changelist-search input[type=search], #changelist-search input[name=q]").first
    ).to_be_focused()


def test_the_command_palette_opens_finds_and_goes(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/")
    field = gwen.locator("#search-input-command")
    expect(field).not_to_be_visible()
    gwen.keyboard.press("Control+k")
    expect(field).to_be_focused()
    field.press_sequentially("Webhook")
    expect(gwen.locator("#command-results li").first).to_be_visible()
    field.press("ArrowDown")
    field.press("Enter")
    expect(gwen).to_have_url(re.compile("/admin/engine/webhook"))


def test_actions_on_chosen_rows_appear_with_the_choice(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/engine/instance/")
    gwen.locator("#result_list input[name=_selected_action]").first.check()
    choice = gwen.get_by_label("Select action to run")
    run = gwen.get_by_role("button", name="Run").or_(gwen.get_by_role("button", name="Go")).first
    expect(run).not_to_be_visible()
    choice.select_option(label="Cancel …")
    expect(run).to_be_visible()


def test_a_form_is_sent_to_its_own_address(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/engine/secret/add/?from=list")
    expect(gwen.locator("#secret_form")).to_have_attribute("action", "/admin/engine/secret/add/?from=list")


THEIR_START = """
activeTab = {% if opts %}getCurrentTab() || '{% tabs_primary_active inline_admin_formsets %}'{% else %}''{% endif %};
$watch('sidebarDesktopOpen', value => localStorage.setItem('sidebarDesktopOpen', value ? '1' : '0'));
"""
OUR_START = "openPage('{% if opts %}{% tabs_primary_active inline_admin_formsets %}{% endif %}')"
CHANGED = {
    "layouts/skeleton.html": [
        ("{% static 'unfold/js/alpine/alpine.js' %}", "{% static 'vendor/alpinejs-csp/alpine-csp.min.js' %}"),
        (THEIR_START, OUR_START),
    ],
    "helpers/welcomemsg.html": [
        ("; localStorage.setItem('sidebarDesktopOpen', sidebarDesktopOpen ? '1' : '0');", ""),
    ],
    "helpers/command.html": [
        ("if (!$event.metaKey && !$event.ctrlKey) selectItem", "!$event.metaKey && !$event.ctrlKey && selectItem"),
    ],
}
"""What differs between Unfold's pages and ours: Alpine's CSP build reads one expression, no statements and no functions."""


@pytest.mark.parametrize("name", CHANGED)
def test_our_copies_of_unfolds_pages_differ_only_where_they_must(name: str) -> None:
    """After an update of Unfold this says which page to copy again."""
    expected = "".join((Path(unfold.__path__[0]) / "templates/unfold" / name).read_text().split())
    for theirs, ours in CHANGED[name]:
        squeezed = "".join(theirs.split())
        assert expected.count(squeezed) == 1, theirs
        expected = expected.replace(squeezed, "".join(ours.split()))
    assert "".join((PROJECT / "templates/unfold" / name).read_text().split()) == expected
