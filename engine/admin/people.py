"""People, roles, tenants: who there is, changed through engine.services.people.accounts alone."""

from functools import wraps
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminEmailInputWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.models import Audit, Erasure
from engine.services.people import accounts as people
from engine.services.people.erasure import seek_erasure, withdraw_erasure
from engine.services.tenants.cross_tenant_access import note_looks
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS, TO_MANAGE_PEOPLE, Level
from workflowplatform.accounts.middleware import CHOSEN_TENANT
from workflowplatform.accounts.models import Kind, Role, Tenant, User
from workflowplatform.database.tenancy import crossing
from workflowplatform.http.public_links import origin_for

KINDS = [(Kind.PERSON, "Person"), (Kind.SERVICE, "Service account")]
LEVELS = [(int(level), f"{int(level)} · {level.name.lower()}") for level in Level]


class PersonForm(ServiceForm):
    """What both adding and changing a person ask."""

    full_name = forms.CharField(required=False, max_length=200, widget=UnfoldAdminTextInputWidget())
    email = forms.EmailField(required=False, label="Mail address", widget=UnfoldAdminEmailInputWidget())
    level = forms.TypedChoiceField(
        choices=LEVELS, coerce=int, initial=int(Level.USER), widget=UnfoldAdminSelectWidget()
    )
    roles = forms.MultipleChoiceField(required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [pair for pair in LEVELS if pair[0] <= max(self.actor.level, self.instance.level)]
        # Only what is drawn is shortened: the service refuses a level that was typed past the page.
        self.fields["level"].widget.choices = offered  # type: ignore[attr-defined]
        self.fields["roles"].choices = [(role.name, str(role)) for role in access.visible_roles(self.actor)]  # type: ignore[attr-defined]


class NewPersonForm(PersonForm):
    """Add a person, with an invitation where there is an address."""

    name = forms.CharField(
        max_length=100,
        help_text="They sign in with it: small letters, digits and . _ @ + -",
        widget=UnfoldAdminTextInputWidget(),
    )
    kind = forms.ChoiceField(
        choices=KINDS,
        initial=Kind.PERSON,
        required=False,
        help_text="A service account is a program's own: it has tokens, never signs in, and is nobody's second pair of eyes.",
        widget=UnfoldAdminSelectWidget(),
    )
    invite = forms.BooleanField(
        required=False,
        label="Send an invitation",
        help_text="A mail with a link by which they choose a password.",
        widget=UnfoldBooleanSwitchWidget(),
    )
    field_order = ("name", "kind", "full_name", "email", "level", "roles", "invite")

    def act(self, typed: dict[str, Any]) -> User:
        invite = typed.pop("invite")
        typed["kind"] = typed["kind"] or Kind.PERSON
        tenant = Tenant.objects.get(pk=self.actor.tenant_id)
        person = people.create_person(actor=self.actor, tenant=tenant, **typed)
        if invite:
            people.invite_person(actor=self.actor, person=person, base_url=origin_for(self.request))
        return person


def held_words(person: User) -> str:
    """Say what a changed mail address waits for, and what a change of it leads to."""
    until = person.email_held_until
    if until is None:
        return "After a change the old address is told, and no link for a password goes to the new one for a day."
    by = person.email_changed_by.capitalize()
    return f"{by} changed it. No link for a password goes there until {moment_words(until)}, unless a second level 5 confirms it."


class ChangedPersonForm(PersonForm):
    """Change details, level and roles; each difference is its own act in the audit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        person = self.instance
        held = [role.name for role in person.roles.all()]
        self.initial.update(full_name=person.full_name, email=person.email, level=person.level, roles=held)
        self.fields["email"].help_text = held_words(person)

    def act(self, typed: dict[str, Any]) -> User:
        person, held = self.instance, set(self.initial["roles"])
        people.change_details(actor=self.actor, person=person, full_name=typed["full_name"], email=typed["email"])
        people.change_level(actor=self.actor, person=person, level=typed["level"])
        for role in sorted(set(typed["roles"]) - held):
            people.grant_role(actor=self.actor, person=person, role=role)
        for role in sorted(held - set(typed["roles"])):
            people.revoke_role(actor=self.actor, person=person, role=role)
        return person


def invite(request: HttpRequest, person: User) -> str:
    """Send an invitation."""
    people.invite_person(actor=actor_of(request), person=person, base_url=origin_for(request))
    return f"An invitation is on its way to {person.email}."


def send_reset(request: HttpRequest, person: User) -> str:
    """Send a link for a new password."""
    people.send_reset_link(actor=actor_of(request), person=person, base_url=origin_for(request))
    return f"A link for a new password is on its way to {person.email}."


def confirm_email(request: HttpRequest, person: User) -> str:
    """Confirm a changed mail address."""
    people.confirm_email(actor=actor_of(request), person=person)
    return f"The mail address {person.email} is confirmed."


def deactivate(request: HttpRequest, person: User) -> str:
    """Shut a person out."""
    people.deactivate_person(actor=actor_of(request), person=person)
    return f"{person.display_name} is deactivated: signed out, tokens revoked, claimed tasks released."


def reactivate(request: HttpRequest, person: User) -> str:
    """Let a person in again."""
    people.reactivate_person(actor=actor_of(request), person=person)
    return f"{person.display_name} can sign in again."


def erase(request: HttpRequest, person: User) -> str:
    """Ask that a person be erased, or agree to it."""
    done = seek_erasure(actor=actor_of(request), person=person, reason=request.POST.get("answer", ""))
    if done.erasure.done_at is None:
        return "Asked. Somebody else of level 5 or above has to agree, on this page; until then nothing is erased."
    left = f" {len(done.mentions)} texts or values mention the person and are unchanged." if done.mentions else ""
    return f"Erased. What stays names {done.erasure.pseudonym}.{left}"


def withdraw(request: HttpRequest, person: User) -> str:
    """Take back that a person be erased."""
    withdraw_erasure(actor=actor_of(request), person=person)
    return "The erasure is withdrawn."


def may_be_erased(actor: Actor, person: User) -> bool:
    """Offer it for others who are not erased."""
    return (
        person.pk != actor.person_id and not Erasure.objects.filter(person_id=person.pk, done_at__isnull=False).exists()
    )


def is_to_be_erased(actor: Actor, person: User) -> bool:
    """Offer it between the asking and the agreeing."""
    return Erasure.objects.filter(person_id=person.pk, done_at__isnull=True, agreed_by_name="").exists()


def erasure_words(actor: Actor, person: User) -> str:
    """Say what pressing the button does now."""
    asked = Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).first()
    goes = "Name, mail address, password, tokens, roles, filters and drafts go; tasks, comments and history keep a pseudonym."
    if asked is None:
        return (
            f"{goes} Somebody else of level 5 or above has to agree. The reason stays in the audit: name nobody in it."
        )
    return f"{goes} {asked.asked_by_name.capitalize()} asked for it: {asked.reason}. Agreeing erases at once, for good."


def is_to_invite(actor: Actor, person: User) -> bool:
    """Offer it while the person may come in and has no password yet."""
    return person.is_active and not person.is_service and not person.has_usable_password()


def has_password(actor: Actor, person: User) -> bool:
    """Offer it while the person may come in by a password."""
    return person.is_active and not person.is_service and person.has_usable_password()


def has_new_email(actor: Actor, person: User) -> bool:
    """Offer it while a mail address waits for somebody other than who changed it."""
    return person.email_held_until is not None and actor.name not in (person.email_changed_by, person.username)


def is_active_other(actor: Actor, person: User) -> bool:
    """Offer it for active people other than oneself."""
    return person.is_active and person.pk != actor.person_id


def is_inactive(actor: Actor, person: User) -> bool:
    """Offer it while the person is shut out."""
    return not person.is_active


@admin.register(User)
class PersonAdmin(TenantAdmin):
    visible = staticmethod(access.visible_people)
    list_display = ("who", "level_words", "role_words", "email", "state")
    list_filter = ("kind", "level", "is_active", "roles")
    search_fields = ("username", "full_name", "email")
    ordering = ("username",)
    buttons = (
        Button("invite", "Send an invitation", invite, TO_MANAGE_PEOPLE, is_to_invite),
        Button("reset", "Send a link for a new password", send_reset, TO_MANAGE_PEOPLE, has_password),
        Button(
            "confirm_email",
            "Confirm the mail address",
            confirm_email,
            TO_MANAGE_PEOPLE,
            has_new_email,
            preview="Somebody else changed it less than a day ago. Ask the person first: links for a new password go there.",
        ),
        Button("reactivate", "Reactivate", reactivate, TO_MANAGE_PEOPLE, is_inactive),
        Button(
            "deactivate",
            "Deactivate",
            deactivate,
            TO_MANAGE_PEOPLE,
            is_active_other,
            danger=True,
            preview="They are signed out at once, their tokens are revoked, and tasks they claimed go back to all who may.",
        ),
        Button(
            "erase", "Erase", erase, TO_MANAGE_PEOPLE, may_be_erased, danger=True, asks="Why?", preview=erasure_words
        ),
        Button("withdraw", "Withdraw the erasure", withdraw, TO_MANAGE_PEOPLE, is_to_be_erased),
    )
    readonly_for_viewers = ("username", "kind_words", "full_name", "email", "level_words", "role_words", "state")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("roles")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = ChangedPersonForm if obj else NewPersonForm
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        if obj and not self.has_change_permission(request, obj):
            return list(self.readonly_for_viewers)
        changed = ["username", "kind_words", "full_name", "email", "level", "roles"]
        return changed if obj else list(NewPersonForm.field_order)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj and not self.has_change_permission(request, obj):
            return self.readonly_for_viewers
        return ("username", "kind_words") if obj else ()

    @display(description="Person", header=True, ordering="username")
    def who(self, person: User) -> list[str]:
        return [person.display_name, person.username]

    @display(description="Kind", ordering="kind")
    def kind_words(self, person: User) -> str:
        words = dict(KINDS)[Kind(person.kind)]
        return f"{words}, made by {person.made_by}" if person.made_by else words

    @display(description="Level", ordering="level")
    def level_words(self, person: User) -> str:
        return person.get_level_display()

    @display(description="Roles")
    def role_words(self, person: User) -> str:
        return ", ".join(str(role) for role in person.roles.all()) or "–"

    @display(
        description="State",
        label={
            "active": "success",
            "invited": "info",
            "service": "info",
            "no password": "warning",
            "deactivated": "danger",
        },
    )
    def state(self, person: User) -> str:
        if not person.is_active:
            return "deactivated"
        if person.is_service:
            return "service"
        if person.has_usable_password():
            return "active"
        return "invited" if person.invited_at else "no password"


class RoleForm(ServiceForm):
    """Add a role, or change the words people read for it."""

    name = forms.CharField(
        max_length=63,
        help_text="Templates use it, so it stays: small letters, digits, - and _.",
        widget=UnfoldAdminTextInputWidget(),
    )
    title = forms.CharField(
        required=False, max_length=200, help_text="What people read.", widget=UnfoldAdminTextInputWidget()
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields.pop("name", None)
            self.initial["title"] = self.instance.title

    def act(self, typed: dict[str, Any]) -> Role:
        if self.instance._state.adding:
            return people.create_role(actor=self.actor, tenant=Tenant.objects.get(pk=self.actor.tenant_id), **typed)
        return people.rename_role(actor=self.actor, role=self.instance, title=typed["title"])


@admin.register(Role)
class RoleAdmin(TenantAdmin):
    visible = staticmethod(access.visible_roles)
    form = RoleForm
    list_display = ("words", "name", "holders")
    search_fields = ("name", "title")
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("people")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        if obj is None:
            return ["name", "title"]
        return ["title", "holders"] if self.has_change_permission(request, obj) else ["name", "title", "holders"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["holders"] if obj else []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        acts = Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=row.tenant_id, new__name=row.name)
        return acts.filter(action__in=("create_role", "rename_role"))

    @display(description="Role", ordering="name")
    def words(self, role: Role) -> str:
        return str(role)

    @display(description="People")
    def holders(self, role: Role) -> str:
        return ", ".join(person.display_name for person in role.people.all()) or "nobody"


class TenantForm(ServiceForm):
    """Found a tenant, or change what it is called and may use."""

    name = forms.CharField(
        max_length=63, help_text="Small letters, digits, - and _. It stays.", widget=UnfoldAdminTextInputWidget()
    )
    title = forms.CharField(required=False, max_length=200, widget=UnfoldAdminTextInputWidget())
    concurrent_limit = forms.IntegerField(
        required=False,
        min_value=1,
        label="Instances at a time",
        help_text="Empty: any number.",
        widget=UnfoldAdminIntegerFieldWidget(),
    )
    http_allow = forms.CharField(
        required=False,
        label="Origins that calls may reach",
        help_text="One a line, such as https://api.example.com. Empty: any public one.",
        widget=UnfoldAdminTextareaWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenant = self.instance
        if tenant._state.adding:
            self.fields = {name: self.fields[name] for name in ("name", "title")}
            return
        self.fields.pop("name", None)
        origins = "\n".join(tenant.http_allow or [])
        self.initial.update(title=tenant.title, concurrent_limit=tenant.concurrent_limit, http_allow=origins)

    def act(self, typed: dict[str, Any]) -> Tenant:
        if self.instance._state.adding:
            return people.create_tenant(actor=self.actor, **typed)
        typed["http_allow"] = typed["http_allow"].split() or None
        return people.change_tenant(actor=self.actor, tenant=self.instance, **typed)


def every_tenant(actor: Actor) -> Any:
    """Return all tenants to level 6, and none to others."""
    return Tenant.objects.all() if actor.level >= TO_CROSS_TENANTS else Tenant.objects.none()


def enter(request: HttpRequest, tenant: Tenant) -> str:
    """Work in this tenant from now on; the crossing is audited there."""
    people.choose_tenant(actor=actor_of(request), tenant=tenant)
    request.session[CHOSEN_TENANT] = str(tenant.pk)
    return f"You now work in {tenant}. Your entry stands in its audit."


def is_elsewhere(actor: Actor, tenant: Tenant) -> bool:
    """Offer it for tenants other than the one at hand."""
    return tenant.pk != actor.tenant_id


def _across(pattern: Any) -> Any:
    """Let level 6 see every tenant on a page of tenants; others see there what they see elsewhere."""
    view = pattern.callback

    @wraps(view)
    def seen(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        actor = request.actor  # type: ignore[attr-defined]
        if not actor or actor.level < TO_CROSS_TENANTS:
            return view(request, *args, **kwargs)
        with crossing("tenants"):
            response = view(request, *args, **kwargs)
            return response.render() if isinstance(response, TemplateResponse) else response

    pattern.callback = seen
    return pattern


@admin.register(Tenant)
class TenantPage(TenantAdmin):
    visible = staticmethod(every_tenant)
    form = TenantForm
    list_display = ("words", "name", "founded")
    search_fields = ("name", "title")
    ordering = ("name",)
    founded = moment_column("created_at", "Founded")
    buttons = (Button("enter", "Work in this tenant", enter, TO_CROSS_TENANTS, is_elsewhere),)

    def get_urls(self) -> list[Any]:
        return [_across(pattern) for pattern in super().get_urls()]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["title", "concurrent_limit", "http_allow"] if obj else ["name", "title"]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """List tenants, and note in each that is shown who looked."""
        answer = super().changelist_view(request, extra_context)
        shown = getattr(answer, "context_data", None) or {}
        if "cl" in shown:
            ids = [tenant.pk for tenant in shown["cl"].result_list]
            note_looks(actor=actor_of(request), tenants=ids, at=request.path)
        return answer

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Find a tenant for its pages, and note there who looked."""
        tenant = super().get_object(request, object_id, from_field)
        if tenant is not None:
            note_looks(actor=actor_of(request), tenants=[tenant.pk], at=request.path)
        return tenant

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(subject_id=row.pk)

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:index")

    @display(description="Tenant", ordering="name")
    def words(self, tenant: Tenant) -> str:
        return str(tenant)
