"""The admin's frame: who comes in, what its pages may load, and which pages it takes.

Pages that keep tenants apart are taken; what other apps would bring is left out, and one of ours that forgets is an
error at start.
"""

from collections.abc import Callable
from typing import Any, cast

from csp.constants import SELF, UNSAFE_EVAL, UNSAFE_INLINE
from csp.decorators import csp_update
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest, ImproperlyConfigured, PermissionDenied
from django.core.paginator import InvalidPage
from django.db.models.fields.related import RelatedField
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, reverse
from unfold.sites import UnfoldAdminSite

OURS = ("engine", "tasks_inbox", "workflowplatform")
LEFT_OUT = frozenset({"view_on_site"})
"""An address of the frame that would tell about rows without asking whose they are."""

RELAXED = {"script-src": [SELF, UNSAFE_EVAL], "style-src": [SELF, UNSAFE_INLINE]}
"""Unfold's Alpine evaluates attributes and its colours stand in a style element: here and nowhere else.
Inline scripts stay forbidden."""


class OfferedChoices(AutocompleteJsonView):
    """Offer rows for a relation that stands on a page which this person sees; refuse to ask through anything else.

    Django follows any relation of any table, backwards too, where it has no answer, and hands the term to the database
    as it comes.
    """

    def process_request(self, request: HttpRequest) -> tuple[str, Any, Any, str]:
        term, page, field, key = super().process_request(request)
        site: Any = self.admin_site
        source = site._registry.get(field.model)
        if not isinstance(field, RelatedField) or source is None or not source.has_view_permission(request):
            raise PermissionDenied
        return term.replace("\0", ""), page, field, key


class WorkflowAdminSite(UnfoldAdminSite):
    """Django's admin for levels 4 and above."""

    site_title = "Workflow"
    index_title = "Dashboard"
    enable_nav_sidebar = True

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Take a page that keeps tenants apart, leave out what other apps bring, refuse our own that does neither."""
        if getattr(admin_class, "keeps_tenants_apart", False):
            super().register(model_or_iterable, admin_class, **options)
        elif (getattr(admin_class, "__module__", None) or "").partition(".")[0] in OURS:
            raise ImproperlyConfigured(f"{admin_class.__name__} must derive from engine.admin.base.TenantAdmin.")

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a page: strangers sign in, people below level 4 are refused, and Unfold's scripts may run."""
        inner = csp_update(RELAXED)(super().admin_view(view, cacheable))

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.user.is_anonymous:
                return redirect_to_login(request.get_full_path())
            if not self.has_permission(request):
                raise PermissionDenied
            return inner(request, *args, **kwargs)

        return guarded

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [route for route in super().get_urls() if getattr(route, "name", None) not in LEFT_OUT]

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        return cast(HttpResponse, OfferedChoices.as_view(admin_site=self)(request))

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Find pages by name; Unfold breaks on a page number that is none."""
        try:
            return cast(HttpResponse, super().search(request, extra_context))
        except (InvalidPage, ValueError) as error:
            raise BadRequest from error

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send strangers to the one sign-in page."""
        return redirect_to_login(reverse("admin:index")) if request.user.is_anonymous else redirect("admin:index")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("accounts:password_change")
