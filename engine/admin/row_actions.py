"""Acts of a row's page that are no form: each a plain POST to its own address, calling one service."""

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
from engine.errors import NotFound, WorkflowError
from workflowplatform.accounts.actor import Actor


def always(actor: Actor, row: Any) -> bool:
    """Offer a button on every row."""
    return True


@dataclass(frozen=True, slots=True)
class Button:
    """One act: its words, the service call that returns the sentence to show (or a page of its own), and when it is offered."""

    name: str
    words: str
    run: Callable[[HttpRequest, Any], str | HttpResponse]
    level: int
    offered: Callable[[Actor, Any], bool] = always
    danger: bool = False
    primary: bool = False
    """Whether this is what one comes for."""
    asks: str = ""
    """The question of a text field that goes along; its answer is `request.POST["answer"]`."""
    more: tuple["Question", ...] = ()
    """Further questions, answered or not; their answers stand in `request.POST` by name."""
    preview: str | Callable[[Actor, Any], str] = ""
    """What will happen, in a sentence above the questions; said of this very row where it is a function."""
    mark: Callable[[Any], str] | None = None
    """What the row was when the page was drawn; it comes back as `request.POST["mark"]`, so that a second press can be told."""


@dataclass(frozen=True, slots=True)
class Question:
    """A text field beside a button."""

    name: str
    words: str
    hint: str = ""
    long: bool = False


@dataclass(frozen=True, slots=True)
class OfferedButton:
    """A button as the page draws it."""

    words: str
    url: str
    danger: bool
    primary: bool
    asks: str
    more: tuple[Question, ...]
    preview: str
    mark: str


class ButtonRow:
    """The buttons of one ModelAdmin: their addresses, and which of them a row offers to whom."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.prefix = f"{page.opts.app_label}_{page.opts.model_name}"

    def urls(self) -> list[URLPattern]:
        """Return one address a button."""
        return [
            path(
                f"<path:object_id>/{button.name}/",
                self.page.admin_site.admin_view(require_POST(self._view(button))),
                name=f"{self.prefix}_{button.name}",
            )
            for button in self.page.buttons
        ]

    def offered(self, request: HttpRequest, row: Any) -> list[OfferedButton]:
        """Return what this person may press on this row."""
        actor = actor_of(request)
        return [
            OfferedButton(
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
            messages.error(request, refusal.message)
        else:
            if isinstance(shown, HttpResponse):
                return shown
            messages.success(request, shown)
        return redirect(self.page.after_button(request, row))
