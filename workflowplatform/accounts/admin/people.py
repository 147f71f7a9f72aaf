"""The admin pages of people and roles, changed only through engine.services.people."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.html import escape
from unfold.decorators import display
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminEmailInputWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button, Result
from engine.admin.service_forms import ServiceForm
from engine.models import Audit, Erasure
from engine.services.notifications.reports import use_address_again
from engine.services.people import accounts as people
from engine.services.people.erasure import seek_erasure, withdraw_erasure
from engine.services.people.leads import set_leads
from engine.services.people.tenants_and_roles import create_role, mark_role, rename_role
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_PEOPLE, TO_OPERATE, Level
from workflowplatform.accounts.models import Kind, Role, Tenant, User
from workflowplatform.http.public_links import origin_for

KINDS = [(Kind.PERSON, "Person"), (Kind.SERVICE, "Service account")]
LEVELS = [(int(level), f"{int(level)} · {level.name.lower()}") for level in Level]


class PersonForm(ServiceForm):
    """The fields that adding and changing a person share."""

    full_name = forms.CharField(required=False, max_length=200, widget=UnfoldAdminTextInputWidget())
    email = forms.EmailField(required=False, label="E-mail address", widget=UnfoldAdminEmailInputWidget())
    level = forms.TypedChoiceField(
        choices=LEVELS, coerce=int, initial=int(Level.USER), widget=UnfoldAdminSelectWidget()
    )
    roles = forms.MultipleChoiceField(required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [pair for pair in LEVELS if pair[0] <= max(self.actor.level, self.instance.level)]
        # Only the offered choices are shortened: the service refuses a higher level that is sent anyway.
        self.fields["level"].widget.choices = offered
        self.fields["roles"].choices = [(role.name, str(role)) for role in access.visible_roles(self.actor)]  # type: ignore[attr-defined]


class NewPersonForm(PersonForm):
    name = forms.CharField(
        max_length=100,
        help_text="Used to sign in: small letters, digits and . _ @ + -",
        widget=UnfoldAdminTextInputWidget(),
    )
    kind = forms.ChoiceField(
        choices=KINDS,
        initial=Kind.PERSON,
        required=False,
        help_text="A service account is for a program: it has tokens, never signs in and does not count for four-eyes checks.",
        widget=UnfoldAdminSelectWidget(),
    )
    invite = forms.BooleanField(
        required=False,
        label="Send an invitation",
        help_text="An e-mail with a link to choose a password.",
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


def email_help(person: User) -> str:
    """Explain, as HTML, what happens when the e-mail address is changed, or what a changed one waits for."""
    until = person.email_held_until
    if until is None:
        return "If you change it, the old address is notified, and no password link is sent to the new one for a day."
    by = escape(person.email_changed_by.capitalize())  # Django draws help texts as they are
    return f"{by} changed it. No password link is sent there until {moment_words(until)}, unless another level 5 confirms it."


class ChangedPersonForm(PersonForm):
    """Change details, level, roles, led roles and manager; each difference is its own audit entry."""

    leads = forms.MultipleChoiceField(
        required=False,
        label="Leads",
        help_text="Roles of theirs whose team they lead: they see its tasks in the inbox and move them.",
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    manager = forms.ChoiceField(
        required=False,
        help_text="Workflows can give a task to the manager of the person who started it.",
        widget=UnfoldAdminSelectWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        person = self.instance
        held = [role.name for role in person.roles.all()]
        self.initial.update(full_name=person.full_name, email=person.email, level=person.level, roles=held)
        self.initial["leads"] = [one.role.name for one in person.memberships.select_related("role") if one.leads]
        self.fields["leads"].choices = self.fields["roles"].choices  # type: ignore[attr-defined]
        self.fields["email"].help_text = email_help(person)
        self.initial["manager"] = person.manager.username if person.manager else ""
        self.fields["manager"].choices = [("", "Nobody"), *managers_for(self.actor, person)]  # type: ignore[attr-defined]

    def act(self, typed: dict[str, Any]) -> User:
        person, held = self.instance, set(self.initial["roles"])
        people.change_details(actor=self.actor, person=person, full_name=typed["full_name"], email=typed["email"])
        people.change_level(actor=self.actor, person=person, level=typed["level"])
        for role in sorted(set(typed["roles"]) - held):
            people.grant_role(actor=self.actor, person=person, role=role)
        for role in sorted(held - set(typed["roles"])):
            people.revoke_role(actor=self.actor, person=person, role=role)
        kept = set(typed["leads"]) - (held - set(typed["roles"]))
        set_leads(actor=self.actor, person=person, roles=sorted(kept))
        if typed["manager"] != self.initial["manager"]:
            people.change_manager(actor=self.actor, person=person, manager=typed["manager"] or None)
        return person


def managers_for(actor: Actor, person: User) -> list[tuple[str, str]]:
    """List the people who could lead a person: the active ones, and who does now."""
    found = access.visible_people(actor).filter(kind=Kind.PERSON).exclude(pk=person.pk)
    kept = found.filter(Q(is_active=True) | Q(pk=person.manager_id)).order_by("username")
    return [(one.username, one.display_name) for one in kept]


def invite(request: HttpRequest, person: User) -> str:
    people.invite_person(actor=actor_of(request), person=person, base_url=origin_for(request))
    return f"An invitation was sent to {person.email}."


def send_reset(request: HttpRequest, person: User) -> str:
    people.send_reset_link(actor=actor_of(request), person=person, base_url=origin_for(request))
    return f"A password link was sent to {person.email}."


def confirm_email(request: HttpRequest, person: User) -> str:
    people.confirm_email(actor=actor_of(request), person=person)
    return f"The e-mail address {person.email} is confirmed."


def deactivate(request: HttpRequest, person: User) -> str:
    people.deactivate_person(actor=actor_of(request), person=person)
    return f"{person.display_name} was deactivated: signed out, tokens revoked, claimed tasks released."


def reactivate(request: HttpRequest, person: User) -> str:
    people.reactivate_person(actor=actor_of(request), person=person)
    return f"{person.display_name} can sign in again."


def erase(request: HttpRequest, person: User) -> Result:
    """Request the erasure of a person's data, or agree to it."""
    done = seek_erasure(actor=actor_of(request), person=person, reason=request.POST.get("answer", ""))
    if done.erasure.done_at is None:
        words = "Requested. Another person of level 5 or above has to agree on this page; until then nothing is erased."
        return Result("requested", words)
    left = f" {len(done.mentions)} texts or values mention the person and are unchanged." if done.mentions else ""
    return Result("done", f"Erased. What remains refers to {done.erasure.pseudonym}.{left}")


def withdraw(request: HttpRequest, person: User) -> str:
    withdraw_erasure(actor=actor_of(request), person=person)
    return "The erasure request was withdrawn."


def may_be_erased(actor: Actor, person: User) -> bool:
    return (
        person.pk != actor.person_id and not Erasure.objects.filter(person_id=person.pk, done_at__isnull=False).exists()
    )


def is_to_be_erased(actor: Actor, person: User) -> bool:
    """Offer it while an erasure was requested and no one has agreed yet."""
    return Erasure.objects.filter(person_id=person.pk, done_at__isnull=True, agreed_by_name="").exists()


def erasure_preview(actor: Actor, person: User) -> str:
    asked = Erasure.objects.filter(person_id=person.pk, done_at__isnull=True).first()
    goes = (
        "Name, e-mail address, password, tokens, roles, filters and drafts are deleted; "
        "tasks, comments and history keep a pseudonym."
    )
    if asked is None:
        return f"{goes} Another person of level 5 or above has to agree. The reason stays in the audit: do not name anyone."
    return f"{goes} Requested by {asked.asked_by_name.capitalize()}: {asked.reason}. If you agree, it is done at once, for good."


def is_to_invite(actor: Actor, person: User) -> bool:
    return person.is_active and not person.is_service and not person.has_usable_password()


def has_password(actor: Actor, person: User) -> bool:
    return person.is_active and not person.is_service and person.has_usable_password()


def has_new_email(actor: Actor, person: User) -> bool:
    """Offer it while a changed e-mail address waits for a person other than the one who changed it."""
    return person.email_held_until is not None and actor.name not in (person.email_changed_by, person.username)


def use_address(request: HttpRequest, person: User) -> str:
    use_address_again(actor=actor_of(request), person=person)
    return f"Notifications are sent to {person.email} again."


def came_back(actor: Actor, person: User) -> bool:
    """Offer it while mail to the person's address came back."""
    return access.bounced_addresses(actor).filter(person_id=person.pk, bounced_address=person.email).exists()


def bounce_words(actor: Actor, person: User) -> str:
    """Explain why no notifications are sent to a person."""
    bounce = access.bounced_addresses(actor).filter(person_id=person.pk).first()
    if bounce is None or bounce.bounced_at is None:
        return ""
    said = f" The mail server said: {bounce.bounce}." if bounce.bounce else ""
    return f"A notification came back on {moment_words(bounce.bounced_at)}, so none is sent by mail.{said}"


def is_active_other(actor: Actor, person: User) -> bool:
    return person.is_active and person.pk != actor.person_id


def is_inactive(actor: Actor, person: User) -> bool:
    return not person.is_active


@admin.register(User)
class PersonAdmin(TenantAdmin):
    visible = staticmethod(access.visible_people)
    list_display = ("who", "level_words", "role_words", "address", "state")
    list_filter = ("kind", "level", "is_active", "roles")
    search_fields = ("username", "full_name", "email")
    ordering = ("username",)
    buttons = (
        Button("invite", "Send an invitation", invite, TO_MANAGE_PEOPLE, is_to_invite),
        Button("reset", "Send a password link", send_reset, TO_MANAGE_PEOPLE, has_password),
        Button(
            "confirm_email",
            "Confirm the e-mail address",
            confirm_email,
            TO_MANAGE_PEOPLE,
            has_new_email,
            preview="Another person changed it less than a day ago. Ask the owner first: password links are sent there.",
        ),
        Button(
            "use_address",
            "Use the e-mail address again",
            use_address,
            TO_OPERATE,
            came_back,
            preview=bounce_words,
        ),
        Button("reactivate", "Reactivate", reactivate, TO_MANAGE_PEOPLE, is_inactive),
        Button(
            "deactivate",
            "Deactivate",
            deactivate,
            TO_MANAGE_PEOPLE,
            is_active_other,
            danger=True,
            preview="They are signed out at once, their tokens are revoked, and the tasks they claimed are released.",
        ),
        Button(
            "erase",
            "Erase",
            erase,
            TO_MANAGE_PEOPLE,
            may_be_erased,
            danger=True,
            asks="Reason",
            preview=erasure_preview,
        ),
        Button("withdraw", "Withdraw the request", withdraw, TO_MANAGE_PEOPLE, is_to_be_erased),
    )
    readonly_for_viewers = (
        *("username", "kind_words", "full_name", "email", "level_words", "role_words"),
        *("lead_words", "manager_words", "state"),
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        came_back = access.bounced_addresses(actor_of(request)).filter(
            person_id=OuterRef("pk"), bounced_address=OuterRef("email")
        )
        people = super().get_queryset(request).prefetch_related("roles")
        return people.annotate(came_back_at=Subquery(came_back.values("bounced_at")[:1]))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = ChangedPersonForm if obj else NewPersonForm
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        if obj and not self.has_change_permission(request, obj):
            return list(self.readonly_for_viewers)
        changed = ["username", "kind_words", "full_name", "email", "level", "roles", "leads", "manager"]
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
        return f"{words}, created by {person.made_by}" if person.made_by else words

    @display(description="E-mail", header=True, ordering="email")
    def address(self, person: User) -> list[str]:
        came_back = person.came_back_at  # type: ignore[attr-defined]
        return [person.email or "–", f"⚠ came back on {moment_words(came_back)}" if came_back else ""]

    @display(description="Level", ordering="level")
    def level_words(self, person: User) -> str:
        return person.get_level_display()

    @display(description="Roles")
    def role_words(self, person: User) -> str:
        return ", ".join(str(role) for role in person.roles.all()) or "–"

    @display(description="Leads")
    def lead_words(self, person: User) -> str:
        led = (str(one.role) for one in person.memberships.select_related("role") if one.leads)
        return ", ".join(led) or "–"

    @display(description="Manager")
    def manager_words(self, person: User) -> str:
        return person.manager.display_name if person.manager else "–"

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
    """Add a role, or change its title."""

    name = forms.CharField(
        max_length=63,
        help_text="Templates refer to it, so it cannot change: small letters, digits, - and _.",
        widget=UnfoldAdminTextInputWidget(),
    )
    title = forms.CharField(
        required=False, max_length=200, help_text="Shown to people.", widget=UnfoldAdminTextInputWidget()
    )
    confidential = forms.BooleanField(
        required=False,
        help_text="A deputy gets its work only if the absent person chooses it.",
        widget=UnfoldBooleanSwitchWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.fields.pop("name", None)
            self.initial.update(title=self.instance.title, confidential=self.instance.confidential)

    def act(self, typed: dict[str, Any]) -> Role:
        if self.instance._state.adding:
            return create_role(actor=self.actor, tenant=Tenant.objects.get(pk=self.actor.tenant_id), **typed)
        role = rename_role(actor=self.actor, role=self.instance, title=typed["title"])
        return mark_role(actor=self.actor, role=role, confidential=typed["confidential"])


@admin.register(Role)
class RoleAdmin(TenantAdmin):
    visible = staticmethod(access.visible_roles)
    form = RoleForm
    list_display = ("words", "name", "confidential", "holders")
    search_fields = ("name", "title")
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("people")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        if obj is None:
            return ["name", "title", "confidential"]
        changeable = ["title", "confidential", "holders"]
        return changeable if self.has_change_permission(request, obj) else ["name", *changeable]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["holders"] if obj else []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        acts = access.visible_audit(actor).filter(subject_id=row.tenant_id, new__name=row.name)
        return acts.filter(action__in=("create_role", "rename_role", "mark_role"))

    @display(description="Role", ordering="name")
    def words(self, role: Role) -> str:
        return str(role)

    @display(description="People")
    def holders(self, role: Role) -> str:
        return ", ".join(person.display_name for person in role.people.all()) or "no one"
