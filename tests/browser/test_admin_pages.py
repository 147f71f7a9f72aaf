"""The admin follows a machine that turns dark, and works where no scripts run."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import DARK, faults_in
from tests.browser.conftest import NewContext, SignedIn
from tests.browser.product import Product
from tests.browser.test_screens import BRIGHT


def test_a_page_turns_dark_when_the_machine_does(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", color_scheme="light")
    gwen.goto("/admin/")
    expect(gwen.locator("html")).not_to_have_class("dark")
    gwen.emulate_media(color_scheme="dark")
    expect(gwen.locator("html")).to_have_class("dark")
    assert gwen.evaluate(BRIGHT) == []
    assert faults_in(gwen, (DARK,)) == []
    gwen.emulate_media(color_scheme="light")
    expect(gwen.locator("html")).not_to_have_class("dark")


def test_a_template_is_written_without_scripts(signed_in: SignedIn, new_context: NewContext, product: Product) -> None:
    kept = signed_in("gwen").context.storage_state()
    page = new_context(product.address, storage_state=kept, java_script_enabled=False).new_page()
    page.goto("/admin/engine/templateversion/add/")
    page.get_by_label("The template as YAML").fill(
        "workflow: no-scripts\nsteps:\n  - task: {title: Look, roles: [finanse]}\n"
    )
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("The tenant has no role")).to_be_visible()
    page.get_by_label("The template as YAML").fill(
        "workflow: no-scripts\nsteps:\n  - task: {title: Look, roles: [finance]}\n"
    )
    page.get_by_role("button", name="Save draft").click()
    page.get_by_role("button", name="Review and activate").click()
    page.get_by_role("button", name="Activate version").click()
    expect(page.get_by_text("Version 1 is active.")).to_be_visible()
