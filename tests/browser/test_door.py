"""In by the door, out by the menu."""

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
    page.get_by_label("Name").fill("Uri")
    page.get_by_label("Password").fill("demo-uri")
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile("/inbox/start/$"))

    Door(page).sign_out()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto("/inbox/")
    expect(page).to_have_url(re.compile("/accounts/login/"))


def test_wrong_password_is_told_in_a_sentence_and_the_name_is_kept(product: Product, new_context: NewContext) -> None:
    page = new_context(product.address).new_page()
    Door(page).sign_in("ada", "demo-adam")
    expect(page.get_by_role("alert")).to_have_text(re.compile("Name and password do not fit together"))
    expect(page.get_by_label("Name")).to_have_value("ada")
    expect(page.get_by_label("Password")).to_have_value("")
