"""Read a page by its hooks, whatever its words: docs/testing.md lists them."""

import re
from typing import Any

Page = Any
"""An answer of Django's test client, or its text."""


def text_of(page: Page) -> str:
    """Return the text of a page."""
    return page if isinstance(page, str) else page.content.decode()


def codes(kind: str, page: Page) -> list[str]:
    """List the codes of what a page says of one kind: notice, toast, error, reason, result, entry."""
    found = re.findall(rf'\sdata-{kind} data-code="([^"]*)"', text_of(page))
    return [code for each in found for code in each.split()]


def notices(page: Page) -> list[str]:
    """List what the page warns of or reports, by code."""
    return codes("notice", page)


def toasts(page: Page) -> list[str]:
    """List what the page says was just done, by code."""
    return codes("toast", page)


def errors(page: Page) -> list[str]:
    """List what is wrong with what was sent, by code."""
    return codes("error", page)


def wrong_fields(page: Page) -> int:
    """Return how many fields need attention."""
    return sum(int(count) for count in values("wrong", page))


def refusing(page: Page) -> list[str]:
    """List the rules by which the reader may not act on a task, by code."""
    return re.findall(r'\sdata-reason data-code="([^"]*)" data-ok="no"', text_of(page))


def allowing(page: Page) -> list[str]:
    """List the rules that let the reader see a task or act on it, by code."""
    return re.findall(r'\sdata-reason data-code="([^"]*)" data-ok="yes"', text_of(page))


def values(name: str, page: Page) -> list[str]:
    """List what a `data-` attribute says, wherever it is on the page."""
    return re.findall(rf'\sdata-{name}="([^"]*)"', text_of(page))


def value(name: str, page: Page) -> str:
    """Return what a `data-` attribute says that is on the page exactly once."""
    found = values(name, page)
    assert len(found) == 1, f"data-{name} is on the page {len(found)} times"
    return found[0]


def acts(page: Page) -> set[str]:
    """Name what the page offers to do."""
    return set(values("act", page))


def page_name(page: Page) -> str:
    """Return which page this is."""
    return value("page", page)


def part(name: str, page: Page) -> str:
    """Return a named part of a page."""
    return element(f'data-part="{name}"', page)


def notice(code: str, page: Page) -> str:
    """Return the notice with a code."""
    return element(f'data-notice data-code="{code}"', page)


def toast(code: str, page: Page) -> str:
    """Return the toast with a code."""
    return element(f'data-toast data-code="{code}"', page)


def element(hook: str, page: Page) -> str:
    """Return the first element with a hook, to its end."""
    text = text_of(page)
    start = re.search(rf"<(\w+)[^>]*\s{re.escape(hook)}", text)
    assert start, f"the page has no {hook}"
    depth = 0
    for tag in re.finditer(rf"<(/?){start[1]}\b[^>]*>", text[start.start() :]):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return text[start.start() : start.start() + tag.end()]
    raise AssertionError(f"the element with {hook} has no end")


def form_errors(form: Any) -> dict[str, list[str]]:
    """List a form's errors by field, as codes."""
    return {name: [error.code for error in found] for name, found in form.errors.as_data().items()}
