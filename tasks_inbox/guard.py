"""Stand before every page of the inbox: who is not signed in signs in, what one may not see is not there."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render

from engine.errors import NotFound, Refused
from workflowplatform.accounts.actor import Actor

LONGEST_LINE = 2000
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

    return login_required(guarded)
