"""Keep pictures of pages for README and guides, on request: `WORKFLOW_PICTURES=1 bin/test --family browser`.

Without that a run leaves the tree as it was.
"""

from __future__ import annotations

import os

from playwright.sync_api import Page

from workflowplatform.servers.paths import PROJECT

FOLDER = PROJECT / "docs" / "pictures"


def picture(page: Page, name: str) -> None:
    """Take a picture of what the window shows, when everything has been loaded."""
    if os.environ.get("WORKFLOW_PICTURES"):
        page.wait_for_load_state("networkidle")
        page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")
