"""One search over everything a person may see: a page of its own, and the same list inside a dialog (Ctrl-K)."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from engine.presentation.forms.numbers import measure_text
from engine.services.search import KINDS, MOST_CASES, MOST_FOUND, MOST_TASKS, Found, search_everything
from tasks_inbox.decorators import InboxRequest, inbox_page

FEW = 3
"""How many of each kind are shown at first."""
WORDS = {"tasks": _("Tasks"), "cases": _("Cases"), "comments": _("Comments"), "people": _("People")}


@dataclass(frozen=True, slots=True)
class Group:
    """What was found of one kind: the rows to show, and where all of them are."""

    name: str
    word: Any
    rows: list[Any]
    count: int
    more: str = ""

    @property
    def count_words(self) -> str:
        return f"{MOST_FOUND}+" if self.count > MOST_FOUND else str(self.count)


@require_GET
@inbox_page
def search(request: InboxRequest) -> HttpResponse:
    """Search; a dialog of the page's own script asks for the list alone."""
    text, kind = request.GET.get("q", ""), request.GET.get("kind", "")
    kinds = (kind,) if kind in KINDS else KINDS
    found = search_everything(actor=request.actor, text=text, kinds=kinds)
    context = {
        "place": "search",
        "words": text.strip()[:200],
        "found": found,
        "groups": _groups(found, text, kind),
        "most": {"tasks": measure_text(MOST_TASKS), "cases": measure_text(MOST_CASES)},
        "kind": kind if kind in KINDS else "",
    }
    alone = request.headers.get("X-Requested-With") == "search"
    return render(request, f"inbox/search_{'results' if alone else 'page'}.html", context)


def _groups(found: Found, text: str, kind: str) -> list[Group]:
    """Return the groups in their fixed order, each with its first rows, or with all where one is asked for."""
    groups = []
    for name in KINDS:
        rows = list(getattr(found, name))
        shown = rows[: MOST_FOUND if kind == name else FEW]
        address = f"{reverse('inbox:search')}?{urlencode({'q': text, 'kind': name})}"
        if rows:
            groups.append(Group(name, WORDS[name], shown, len(rows), address if len(rows) > len(shown) else ""))
    return groups
