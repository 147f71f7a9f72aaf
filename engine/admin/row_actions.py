"""Buttons on the page of a row: each is a plain POST to its own URL and calls one service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from engine.admin.permissions import actor_of
from engine.errors import Invalid, NotFound, WorkflowError
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Result:
    """What a button reports where one button can end in several ways; `code` tells them apart."""

    code: str
    words: str


def always(actor: Actor, row: Any) -> bool:
    """Offer a button on every row."""
    return True


@dataclass(frozen=True, slots=True)
class Button:
    """One action: its label, the call that does it and returns the message (or a page) to show, and when it is offered."""

    name: str
    words: str
    run: Callable[[HttpRequest, Any], str | Result | HttpResponse]
    level: int
    offered: Callable[[Actor, Any], bool] = always
    danger: bool = False
    primary: bool = False
    """Whether this is the main action of the page."""
    asks: str = ""
    """The label of a required text field; its value is `request.POST["answer"]`."""
    more: tuple["Question", ...] = ()
    """Further, optional fields; their values are in `request.POST` by name."""
    preview: str | Callable[[Actor, Any], str] = ""
    """What will happen, shown above the fields; a function describes it for this row."""
    mark: Callable[[Any], str] | None = None
    """The state of the row when the page was drawn, sent back as `request.POST["mark"]` to detect a second press."""


@dataclass(frozen=True, slots=True)
class Question:
    """An optional text field of a button."""

    name: str
    words: str
    hint: str = ""
    long: bool = False


@dataclass(frozen=True, slots=True)
class OfferedButton:
    """A button as the page draws it."""

    name: str
    words: str
    url: str
    danger: bool
    primary: bool
    asks: str
    more: tuple[Question, ...]
    preview: str
    mark: str


class ButtonRow:
    """The buttons of one ModelAdmin: their URLs, and which of them a row offers to an actor."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.prefix = f"{page.opts.app_label}_{page.opts.model_name}"

    def urls(self) -> list[URLPattern]:
        """Return one URL per button."""
        return [
            path(
                f"<path:object_id>/{button.name}/",
                self.page.admin_site.admin_view(require_POST(self._view(button))),
                name=f"{self.prefix}_{button.name}",
            )
            for button in self.page.buttons
        ]

    def offered(self, request: HttpRequest, row: Any) -> list[OfferedButton]:
        """Return the buttons that this person may press on this row."""
        actor = actor_of(request)
        return [
            OfferedButton(
                button.name,
                button.words,
                self._url(button, row),
                button.danger,
                button.primary,
                button.asks,
                button.more,
                button.preview if isinstance(button.preview, str) else button.preview(actor, row),
                button.mark(row) if button.mark else "",
            )
            for button in self.page.buttons
            if actor.level >= button.level and button.offered(actor, row)
        ]

    def _url(self, button: Button, row: Any) -> str:
        return reverse(f"admin:{self.prefix}_{button.name}", args=[quote(row.pk)])

    def _view(self, button: Button) -> Callable[..., HttpResponse]:
        def press(request: HttpRequest, object_id: str) -> HttpResponse:
            row = self.page.get_object(request, unquote(object_id))
            if row is None:
                raise Http404
            return self._press(request, button, row)

        return press

    def _press(self, request: HttpRequest, button: Button, row: Any) -> HttpResponse:
        try:
            shown = button.run(request, row)
        except NotFound as gone:
            raise Http404 from gone
        except WorkflowError as refusal:
            messages.error(request, refusal.message, extra_tags=code_of(refusal))
        else:
            if isinstance(shown, HttpResponse):
                return shown
            done = f"{self.page.opts.model_name}.{button.name}"
            said = Result(done, shown) if isinstance(shown, str) else Result(f"{done}.{shown.code}", shown.words)
            messages.success(request, said.words, extra_tags=said.code)
        return redirect(self.page.after_button(request, row))


def code_of(refusal: WorkflowError) -> str:
    """Return the code that a page shows for a refusal: that of the first field where fields are named."""
    return refusal.first_code if isinstance(refusal, Invalid) else refusal.code
