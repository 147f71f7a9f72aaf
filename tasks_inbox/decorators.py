"""Stand before every page of the inbox: who is not signed in signs in, what one may not see is not there."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from engine.errors import NotFound, Refused
from tasks_inbox.unsent_answers import keep_sent
from workflowplatform.accounts.actor import Actor

LONGEST_LINE = 2000
BY_ITSELF = "draft"
"""What the page's own script says of itself in X-Requested-With."""
View = Callable[..., HttpResponseBase]


class InboxRequest(HttpRequest):
    """A request that the middleware has told who acts."""

    actor: Actor


def said(request: HttpRequest, name: str) -> str:
    """Read a line that a form brought, without what no line of text can hold."""
    return request.POST.get(name, "").replace("\0", "").strip()[:LONGEST_LINE]


def inbox_page(view: View) -> View:
    """Make a view a page of the inbox; a row that is not the actor's answers 404 like one that never was."""

    @wraps(view)
    def guarded(request: InboxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404 from error
        except Refused as refusal:
            return render(request, "403.html", {"reason": refusal.message}, status=403)

    return signed_in(guarded)


def signed_in(view: View) -> View:
    """Send strangers to the door; what somebody sent after they had been signed out is kept for their return."""
    asks = login_required(view)

    @wraps(view)
    def entered(request: InboxRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated or request.method != "POST":
            return asks(request, *args, **kwargs)
        if request.headers.get("X-Requested-With") == BY_ITSELF:
            return HttpResponse(status=401)
        return redirect_to_login(keep_sent(request))

    return entered
