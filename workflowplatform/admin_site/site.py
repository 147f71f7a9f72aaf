"""The admin site: who may enter, what its pages may load, and which pages are registered.

Only pages that separate tenants are registered. Those of other apps are left out; one of ours that does not separate
tenants is an error at startup.
"""

from collections.abc import Callable
from typing import Any, cast

from csp.constants import SELF, UNSAFE_INLINE
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
"""A URL of Django's admin that would reveal rows without checking their tenant."""

RELAXED = {"style-src": [SELF, UNSAFE_INLINE]}
"""Unfold writes its colours into a style element: allowed here and nowhere else. Scripts are as restricted as everywhere:
Alpine's CSP build, in place of Unfold's Alpine, evaluates nothing."""


class OfferedChoices(AutocompleteJsonView):
    """Offer rows only for forward relations of pages that this person sees.

    Django follows any relation of any table, backwards too, and passes the term to the database unchecked.
    """

    def process_request(self, request: HttpRequest) -> tuple[str, Any, Any, str]:
        term, page, field, key = super().process_request(request)
        site: Any = self.admin_site
        source = site._registry.get(field.model)
        if not isinstance(field, RelatedField) or source is None or not source.has_view_permission(request):
            raise PermissionDenied
        return term.replace("\0", ""), page, field, key


class WorkflowAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no type hints
    """Django's admin for levels 4 and above."""

    site_title = "Workflow"
    index_title = "Dashboard"
    enable_nav_sidebar = True

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register a page that separates tenants; leave out those of other apps; refuse one of ours that does not."""
        if getattr(admin_class, "keeps_tenants_apart", False):
            super().register(model_or_iterable, admin_class, **options)
        elif (getattr(admin_class, "__module__", None) or "").partition(".")[0] in OURS:
            raise ImproperlyConfigured(f"{admin_class.__name__} must derive from engine.admin.base.TenantAdmin.")

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a page: anonymous users sign in, people below level 4 are refused, and Unfold's styles apply."""
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
        """Find pages by name; Unfold breaks on an invalid page number."""
        try:
            return cast(HttpResponse, super().search(request, extra_context))
        except (InvalidPage, ValueError) as error:
            raise BadRequest from error

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send anonymous users to the one sign-in page."""
        return redirect_to_login(reverse("admin:index")) if request.user.is_anonymous else redirect("admin:index")

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("accounts:password_change")
