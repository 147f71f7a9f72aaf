"""The page that reads the OpenAPI document aloud, under the policy of every page: no outside request, nothing inline."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import SignedIn


def test_operations_are_read_and_tried_in_the_browser(signed_in: SignedIn) -> None:
    page = signed_in("gwen")
    page.goto("/api/v1/docs/")
    operation = page.locator("#operations-templates-get_templates")
    operation.get_by_role("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("200")
    expect(operation.locator(".live-responses-table")).to_contain_text("leave-request")
