"""Keep pictures of pages for README and guides, on request: `WORKFLOW_PICTURES=1 bin/test --family browser`.

Without that a run leaves the tree as it was. Every picture that is kept is named here; tests may offer more views of its page,
in the other languages and sizes of `tests/browser/faces.py`.
"""

from __future__ import annotations

import os
import re

from playwright.sync_api import Page

from workflowplatform.servers.paths import PROJECT

FOLDER = PROJECT / "docs" / "pictures"
KEPT = {
    "admin", "authoring-changes", "authoring-try", "authoring-write",
    "away-en", "away-de-360", "bulk_result", "case", "case-print-en", "escalated", "filter",
    "for-ada-en", "form-errors-en", "form-files-en", "form-with-rows", "four_eyes", "hand-over-en", "hand-over-de-360",
    "inbox", "inbox_dark", "inbox_phone", "inbox_rail", "mail-answer-de-360", "notifications-en",
    "operating-act", "operating-dashboard", "operating-incidents", "operating-instance",
    "request-rejected-en", "search", "start", "task", "task_dark", "task_phone", "task_phone_dark",
    "team", "team_phone", "team_phone_de", "together", "waiting-en",
}  # fmt: skip
"""The pictures of docs/pictures, by name."""
FACED = {
    "ask", "ask-picked", "away", "bulk-all", "bulk-confirm",
    "case-paper", "case-print", "for-ada", "form-errors", "form-files", "form-long", "form-stopped",
    "hand-over", "mail-answer", "mail-answer-used", "mail-question", "notifications", "numbers", "redo",
    "request-rejected", "waiting",
}  # fmt: skip
"""Pages that tests look at in every language and size; of these views only those above are kept."""
FACE = re.compile(r"-(en|de)(-360)?$")


def picture(page: Page, name: str) -> None:
    """Take a picture of what the window shows, when everything has been loaded; one that nobody names is a mistake."""
    assert is_known(name), f"name the picture {name} in tests/browser/pictures.py"
    if name in KEPT and os.environ.get("WORKFLOW_PICTURES"):
        page.wait_for_load_state("networkidle")
        page.screenshot(path=FOLDER / f"{name}.png", animations="disabled")


def is_known(name: str) -> bool:
    """Return whether a picture of this name is kept, or is another view of a page whose pictures are."""
    return name in KEPT or (FACE.search(name) is not None and FACE.sub("", name) in FACED)
