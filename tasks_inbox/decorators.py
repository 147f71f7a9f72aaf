"""What every page of the inbox shares: its guard, the lines it reads, and the toasts that it leaves.

Visitors sign in first, and a row that a person may not see answers 404.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from engine.errors import NotFound, Refused
from engine.presentation.narrative.people_names import names_shown
from tasks_inbox.unsent_answers import keep_sent
from workflowplatform.accounts.actor import Actor

LONGEST_LINE = 2000
BY_ITSELF = "draft"
"""What the page's own script says of itself in X-Requested-With."""
View = Callable[..., HttpResponseBase]


class InboxRequest(HttpRequest):
    """A request that the middleware has told who acts."""

    actor: Actor


def posted_line(request: HttpRequest, name: str) -> str:
    """Return one line of text that a form sent, without characters that no text can contain."""
    return request.POST.get(name, "").replace("\0", "").strip()[:LONGEST_LINE]


def toast(request: HttpRequest, code: str, text: str, *, undo: str = "", level: int = messages.SUCCESS) -> None:
    """Show what was done. `code` identifies it in every language; `undo` is the address that reverts it."""
    messages.add_message(request, level, text, extra_tags=f"{code} {undo}".strip())


def inbox_page(view: View) -> View:
    """Make a view a page of the inbox; a row that is not the actor's answers 404 like one that never was."""

    @wraps(view)
    def guarded(request: InboxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            with names_shown(request.actor.tenant_id):
                return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error
        except Refused as refusal:
            return render(request, "403.html", {"reason": refusal.message}, status=403)

    return signed_in(guarded)


def signed_in(view: View) -> View:
    """Ask visitors to sign in; what a person sent after their session ended is kept until they are back."""
    asks = login_required(view)

    @wraps(view)
    def entered(request: InboxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated or request.method != "POST":
            return asks(request, *args, **kwargs)
        if request.headers.get("X-Requested-With") == BY_ITSELF:
            return HttpResponse(status=401)
        return redirect_to_login(keep_sent(request))

    return entered
