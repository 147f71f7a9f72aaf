"""Sign in on the page, sign out in the menu."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import NewContext
from tests.browser.pages import Door
from tests.browser.product import Product


def test_person_signs_in_where_they_wanted_to_go_and_out_again(product: Product, new_context: NewContext) -> None:
    page = new_context(product.address).new_page()
    page.goto("/inbox/start/")
    expect(page).to_have_url(re.compile("/accounts/login/"))
    Door(page).fill("Uri", "demo-uri")
    expect(page).to_have_url(re.compile("/inbox/start/$"))

    Door(page).sign_out()
    expect(page.locator("body")).to_have_attribute("data-page", "sign_in")
    page.goto("/inbox/")
    expect(page).to_have_url(re.compile("/accounts/login/"))


def test_wrong_password_is_told_in_a_sentence_and_the_name_is_kept(product: Product, new_context: NewContext) -> None:
    page = new_context(product.address).new_page()
    Door(page).sign_in("ada", "demo-adam")
    expect(page.get_by_role("alert").locator('[data-code="invalid_login"]')).to_be_visible()
    expect(page.locator("[name=username]")).to_have_value("ada")
    expect(page.locator("[name=password]")).to_have_value("")
