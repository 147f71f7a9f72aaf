"""Tokens for programs. The token itself is shown once, right after it was created, and is not stored."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.conf import conf
from engine.models import Audit
from engine.services.people.tokens import create_token, revoke_token
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_PEOPLE, TO_OPERATE
from workflowplatform.accounts.models import Kind, Token, User

LIVES = [("30", "30 days"), ("90", "90 days"), ("365", "1 year")]


def lives() -> list[tuple[str, str]]:
    """Return the choices for a token's lifetime, within the limit of the settings."""
    most = conf.token_most_days
    within = [pair for pair in LIVES if not most or int(pair[0]) <= most]
    return within if most and within else [*within, ("", f"{most} days" if most else "default")]


def people_with_tokens(actor: Actor) -> QuerySet[User]:
    """Return the accounts that the actor may create tokens for: their own, and from level 5 service accounts not above them."""
    own = Q(pk=actor.person_id)
    if actor.level >= TO_MANAGE_PEOPLE:
        own |= Q(kind=Kind.SERVICE, level__lte=actor.level)
    return access.visible_people(actor).filter(own, is_active=True)


class TokenForm(ServiceForm):
    person = forms.ModelChoiceField(
        queryset=User.objects.none(),
        label="Account",
        help_text="The program acts as this account: your own or a service account.",
        widget=UnfoldAdminSelectWidget(),
    )
    name = forms.CharField(max_length=100, label="Purpose", widget=UnfoldAdminTextInputWidget())
    lives = forms.ChoiceField(choices=lives, required=False, label="Expires after", widget=UnfoldAdminSelectWidget())
    plain = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["person"].queryset = people_with_tokens(self.actor)  # type: ignore[attr-defined]
        self.initial.setdefault("person", self.actor.person_id)

    def act(self, typed: dict[str, Any]) -> Token:
        expires_in = timedelta(days=int(typed["lives"])) if typed["lives"] else None
        token, self.plain = create_token(
            actor=self.actor, person=typed["person"], name=typed["name"], expires_in=expires_in
        )
        token.plain = self.plain
        return token


def revoke(request: HttpRequest, token: Token) -> str:
    revoke_token(actor=actor_of(request), token=token)
    return f"Token “{token.name}” was revoked."


@admin.register(Token)
class TokenAdmin(TenantAdmin):
    empty_text = "A program uses a token to call the API as a person or a service account."
    visible = staticmethod(access.visible_tokens)
    list_display = ("words", "user", "maker", "made", "ends", "used")
    made = moment_column("created", "Created")
    search_fields = ("name", "user__username")
    ordering = ("-created",)
    list_filter = ("user",)
    buttons = (
        Button(
            "revoke",
            "Revoke",
            revoke,
            TO_OPERATE,
            danger=True,
            preview="Programs that use it are refused from now on. This cannot be undone; create a new token instead.",
        ),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, **kwargs | ({} if obj else {"form": TokenForm}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name", "user", "maker", "made", "ends", "used"] if obj else ["person", "name", "lives"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return self.get_fields(request, obj) if obj else []

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Show the token on this page: a message would store it in a cookie."""
        context = {**self.admin_site.each_context(request), "title": "Token created", "token": obj, "opts": self.opts}
        return TemplateResponse(request, "admin/accounts/token/created.html", context)

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:accounts_token_changelist")

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        chain = access.visible_audit(actor).filter(subject_id=row.user_id)
        return chain.filter(action__in=("create_token", "revoke_token"), new__key=row.token_key)

    @display(description="Token", ordering="name")
    def words(self, token: Token) -> str:
        return token.name or "token"

    @display(description="Created by", ordering="made_by")
    def maker(self, token: Token) -> str:
        return token.made_by or "–"

    @display(description="Expires", ordering="expiry")
    def ends(self, token: Token) -> str:
        return moment_words(token.expiry) if token.expiry else "never"

    @display(description="Last used", ordering="last_used_at")
    def used(self, token: Token) -> str:
        return moment_words(token.last_used_at) if token.last_used_at else "never"
