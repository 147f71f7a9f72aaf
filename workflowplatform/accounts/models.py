"""Tenants, people with a level, their roles, and the tokens of their programs."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from knox.models import AbstractAuthToken

from workflowplatform.accounts.levels import TO_SEE_TENANT, Level
from workflowplatform.database.stored_json import TextsField
from workflowplatform.ids import uuid7

slug = RegexValidator(r"^[a-z][a-z0-9_-]*$", _("Use small letters, digits, - and _, beginning with a letter."))
username = RegexValidator(r"^[a-z0-9][a-z0-9._@+-]*$", _("Use small letters, digits and . _ @ + -"))


class AuditedSubject(models.Model):
    """Something whose acts are chained: the last sequence number and hash travel in its row."""

    audit_seq = models.BigIntegerField(default=0, editable=False)
    audit_hash = models.CharField(max_length=64, default="", editable=False)

    class Meta:
        abstract = True


class Tenant(AuditedSubject):
    """An organisation. Nothing of one is ever seen by another."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63, unique=True, validators=[slug])
    title = models.CharField(max_length=200, blank=True)
    concurrent_limit = models.PositiveIntegerField(null=True, blank=True)
    undo_seconds = models.PositiveSmallIntegerField(null=True, blank=True)
    """How long an answer given on a page can be taken back, where a template does not say; empty: it is sent at once."""
    http_allow = TextsField(
        null=True,
        blank=True,
        help_text=_("Origins that calls may reach, such as https://api.example.com. Empty: any public one."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "wf_tenants"
        ordering = ("name",)

    def __str__(self) -> str:
        return self.title or self.name


class Kind(models.TextChoices):
    """A user: a person, or a program that acts in its own name."""

    PERSON = "person"
    SERVICE = "service"


EMAIL_WAITS = timedelta(hours=24)
"""How long after a change of the mail address nobody gets a new password by mail, unless a second level 5 confirms it."""


class PeopleManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a person by name, whatever the case typed."""
        return self.get(username=(username or "").lower())


class User(AbstractBaseUser, AuditedSubject):  # type: ignore[django-manager-missing]  # knox names tokens by its own base
    """A person: one tenant, one level, any number of roles. The admin's flags are computed from the level."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="people", db_index=False)
    username = models.CharField(_("name"), max_length=100, unique=True, validators=[username])
    full_name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)
    kind = models.CharField(max_length=7, choices=Kind.choices, default=Kind.PERSON, db_default=Kind.PERSON)
    """A service account has tokens and no password, and is nobody's second pair of eyes."""
    made_by = models.CharField(max_length=100, default="", db_default="", blank=True, editable=False)
    same_eyes = TextsField(
        default=list, db_default=Value([], output_field=models.JSONField()), blank=True, editable=False
    )
    """Of a service account: the people who created it or its tokens. Of a person: the service accounts they answer for."""
    level = models.PositiveSmallIntegerField(
        choices=[(int(level), f"{int(level)} {level.name.lower()}") for level in Level], default=int(Level.USER)
    )
    is_active = models.BooleanField(default=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(
        max_length=5, default="auto", choices=[("auto", "auto"), ("light", "light"), ("dark", "dark")]
    )
    single_keys = models.BooleanField(default=True, db_default=True)
    """Whether single keys act on pages; WCAG 2.1.4 wants a way to switch them off."""
    language = models.CharField(max_length=10, default="", db_default="", blank=True)
    """The language of the pages; empty: as the browser asks."""
    roles: "models.ManyToManyField[Role, Membership]" = models.ManyToManyField(
        "Role", through="Membership", related_name="people"
    )
    session_epoch = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    email_changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    email_changed_by = models.CharField(max_length=100, default="", db_default="", blank=True, editable=False)
    """Since when the mail address waits for its day to pass, or for a second level 5 to confirm it; empty: it does not."""
    invited_at = models.DateTimeField(null=True, blank=True, editable=False)
    manager: "models.ForeignKey[User | None, User | None]" = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="team",
        db_constraint=False,
        db_index=False,
    )
    """The lead of this person: workflows ask for it by `manager_of`."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[PeopleManager] = PeopleManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        db_table = "wf_people"
        ordering = ("username",)
        verbose_name = _("person")
        verbose_name_plural = _("people")
        indexes = (models.Index(fields=("manager",), condition=Q(manager__isnull=False), name="people_by_manager"),)
        constraints = (
            models.CheckConstraint(condition=Q(level__gte=1, level__lte=6), name="person_level_1_to_6"),
            models.CheckConstraint(condition=Q(username=Lower(F("username"))), name="person_name_in_small_letters"),
            models.UniqueConstraint(fields=("tenant", "id"), name="person_in_tenant"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="person_kind_known"),
        )

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        return self.full_name or self.username.capitalize()

    @property
    def email_held_until(self) -> datetime | None:
        """Return until when a changed mail address that nobody else has confirmed gets no links."""
        until = self.email_changed_at and self.email_changed_at + EMAIL_WAITS
        return until if until and until > timezone.now() else None

    @property
    def is_service(self) -> bool:
        return self.kind == Kind.SERVICE

    @property
    def is_staff(self) -> bool:
        return self.is_active and self.level >= TO_SEE_TENANT

    @property
    def is_superuser(self) -> bool:
        """Answer no for everyone: levels decide, Django's permissions are unused."""
        return False

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Answer Django's own checks: the admin asks TenantAdmin's level table, not this."""
        return False

    def has_perms(self, perm_list: Any, obj: object = None) -> bool:
        return False

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_staff

    def get_session_auth_hash(self) -> str:
        """Bind sessions to the password and to the epoch: a new epoch ends them all."""
        return self._session_hash()

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for secret in settings.SECRET_KEY_FALLBACKS:
            yield self._session_hash(secret=secret)

    def _session_hash(self, secret: str | bytes | None = None) -> str:
        text = f"{self.session_epoch}:{self.password}"
        return salted_hmac("accounts.session", text, secret=secret, algorithm="sha256").hexdigest()

    def get_full_name(self) -> str:
        return self.display_name

    def get_short_name(self) -> str:
        return self.username


class Role(models.Model):
    """A name by which work is offered to several people of a tenant."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="roles", db_index=False)
    name = models.CharField(max_length=63, validators=[slug])
    title = models.CharField(max_length=200, blank=True)
    confidential = models.BooleanField(default=False, db_default=False)
    """Whether a deputy gets the work of this role only where the absent person chooses it."""

    class Meta:
        db_table = "wf_roles"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("tenant", "name"), name="role_name_once_a_tenant"),
            models.UniqueConstraint(fields=("tenant", "id"), name="role_in_tenant"),
        )

    def __str__(self) -> str:
        return self.title or self.name.capitalize()


class Membership(models.Model):
    """A person holds a role; both of one tenant, which the database checks."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="memberships", db_constraint=False, db_index=False
    )
    role = models.ForeignKey(Role, on_delete=models.CASCADE, related_name="memberships", db_constraint=False)
    leads = models.BooleanField(default=False, db_default=False)
    """Whether the person leads the others of the role: sees their tasks and moves them."""

    class Meta:
        db_table = "wf_memberships"
        constraints = (models.UniqueConstraint(fields=("user", "role"), name="role_held_once"),)

    def __str__(self) -> str:
        return f"{self.user} · {self.role}"


class Absence(models.Model):
    """When a person is away, and who stands in. The deputy may do what is the person's; nothing of a task is rewritten for it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    person = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="absences", db_constraint=False, db_index=False
    )
    deputy = models.ForeignKey(
        User,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="deputyships",
        db_constraint=False,
        db_index=False,
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(help_text="The first moment at which the person is back.")
    roles = TextsField(default=list, db_default=Value([], output_field=models.JSONField()), blank=True)
    """The roles for which the deputy stands in; none: all."""
    templates = TextsField(default=list, db_default=Value([], output_field=models.JSONField()), blank=True)
    """The templates for which the deputy stands in; none: all."""
    note = models.CharField(max_length=500, blank=True, default="", db_default="")
    keeps_open = models.BooleanField(default=False, db_default=False)
    """Whether tasks that were the person's before the absence began stay theirs alone."""
    entered_by = models.CharField(max_length=100)
    entered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "wf_absences"
        ordering = ("starts_at", "id")
        indexes = (
            models.Index(fields=("deputy", "ends_at"), name="absences_by_deputy"),
            models.Index(fields=("person", "ends_at"), name="absences_by_person"),
            models.Index(fields=("tenant", "ends_at"), name="absences_by_tenant"),
        )
        constraints = (
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="absence_ends_after_it_starts"),
            models.CheckConstraint(condition=~Q(deputy=F("person")), name="absence_has_another_deputy"),
        )

    def __str__(self) -> str:
        return f"{self.person} · {self.starts_at:%Y-%m-%d}"

    @property
    def last_moment(self) -> datetime:
        """Return the end as people say it: within the last day."""
        return self.ends_at - timedelta(seconds=1)


class Token(AbstractAuthToken):  # type: ignore[misc]  # knox has no type hints
    """What a program signs in with: hashed, named, expiring, of one person and so of one tenant."""

    name = models.CharField(max_length=100, blank=True)
    scopes = models.JSONField(default=list, blank=True)
    made_by = models.CharField(max_length=100, default="", db_default="", blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    used_from = TextsField(
        default=list, db_default=Value([], output_field=models.JSONField()), blank=True, editable=False
    )
    """The addresses from which it was used on the day of its last use, as far as they are counted."""
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")

    class Meta:
        db_table = "wf_tokens"
        ordering = ("-created",)

    def __str__(self) -> str:
        return f"{self.name or 'token'} of {self.user}"


class SignInTally(models.Model):
    """How often something failed lately under one key: a name, an address, or the mail address of a reset. No tenant's."""

    key = models.CharField(primary_key=True, max_length=200)
    failures = models.PositiveIntegerField(default=0)
    at = models.DateTimeField()
    until = models.DateTimeField(null=True)

    class Meta:
        db_table = "wf_sign_in_tallies"
        indexes = (models.Index(fields=("at",), name="sign_in_tally_age"),)

    def __str__(self) -> str:
        return self.key
