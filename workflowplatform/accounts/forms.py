"""The forms of the account pages, in the look of the product."""

import zoneinfo
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import forms as auth_forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workflowplatform.accounts.models import User
from workflowplatform.database import tenancy

ZONES = [*sorted(zone for zone in zoneinfo.available_timezones() if "/" in zone and not zone.startswith("Etc/")), "UTC"]


class Looks(forms.BaseForm):
    """Set the product's classes on every field and list fields as the shared partial draws them."""

    use_required_attribute = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput):
                field.widget.attrs["class"] = "wf-select" if isinstance(field.widget, forms.Select) else "wf-input"
            field.wide = True  # type: ignore[attr-defined]

    def blocks(self) -> list[dict[str, Any]]:
        """List the fields as blocks to draw."""
        return [{"field": bound, "label": bound.label} for bound in self.visible_fields()]

    @property
    def is_wrong(self) -> bool:
        """Return whether anything needs attention."""
        return self.is_bound and bool(self.errors)

    def wrong_places(self) -> list[dict[str, str]]:
        """List the fields with an error, for the summary that leads to them."""
        return [{"anchor": bound.auto_id, "label": str(bound.label)} for bound in self.visible_fields() if bound.errors]


class SignInForm(Looks, auth_forms.AuthenticationForm):
    """Sign in by name; names are unique over all tenants."""

    error_messages = {
        "invalid_login": _("Wrong name or password. Passwords are case-sensitive."),
        "inactive": _("This account is deactivated."),
    }

    def __init__(self, request: HttpRequest | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.fields["username"].label = _("Name")

    def clean(self) -> dict[str, Any]:
        """Find the person whatever their tenant; from here on the request is theirs."""
        with tenancy.crossing("sign-in"):
            cleaned = super().clean()
        if self.user_cache is not None:
            tenancy.asked_by(self.user_cache.tenant_id)
        return cleaned

    def clean_username(self) -> str:
        """Find people whatever the case they type."""
        return str(self.cleaned_data["username"]).strip().lower()


class SavesPassword(auth_forms.SetPasswordForm):  # type: ignore[type-arg]
    """Write the password alone: a person's row also carries their audit chain, which others may be moving on."""

    end_tokens = forms.BooleanField(
        label=_("End my API tokens too"),
        required=False,
        help_text=_("Programs that use them stop working until you create new ones."),
    )

    def save(self, commit: bool = True) -> User:
        self.user.set_password(self.cleaned_data["new_password1"])
        self.user.save(update_fields=["password"])
        person: User = self.user
        return person


class ChangePasswordForm(Looks, SavesPassword, auth_forms.PasswordChangeForm):
    pass


class SetPasswordForm(Looks, SavesPassword):
    """Set a new password by a link; the tokens can be ended too, since more than the password may be lost."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["end_tokens"].initial = True


class FirstPasswordForm(Looks, SavesPassword):
    """Choose the first password: there are no tokens yet."""

    end_tokens = None  # type: ignore[assignment]  # a form without the field


class ResetForm(Looks, auth_forms.PasswordResetForm):
    """Ask for a link by mail. The answer is the same whether or not the address is known."""

    def get_users(self, email: str) -> list[Any]:
        """Find the people with this address, whatever their tenant."""
        with tenancy.crossing("sign-in"):
            return list(super().get_users(email))

    def people(self) -> list[User]:
        """Return who has the address and may choose a new password by mail; their rows say whether that waits."""
        return [person for person in self.get_users(self.cleaned_data["email"]) if isinstance(person, User)]


class SettingsForm(Looks, forms.ModelForm):  # type: ignore[type-arg]
    """How a person wants to see the product."""

    language = forms.ChoiceField(label=_("Language"), required=False)
    time_zone = forms.ChoiceField(label=_("Time zone"), choices=[(zone, zone.replace("_", " ")) for zone in ZONES])

    class Meta:
        model = User
        fields = ("theme", "language", "time_zone", "single_keys")
        labels = {"theme": _("Appearance"), "single_keys": _("Use single-key shortcuts")}
        help_texts = {"single_keys": _("They don’t work while you type in a field. Ctrl+Enter always works.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words: list[tuple[str, Any]] = [("auto", _("Same as my device")), ("light", _("Light")), ("dark", _("Dark"))]
        self.fields["theme"].choices = words  # type: ignore[attr-defined]
        self.fields["language"].choices = [("", _("Same as my browser")), *settings.LANGUAGES]  # type: ignore[attr-defined]

    def save(self, commit: bool = True) -> User:
        self.instance.save(update_fields=self.Meta.fields)
        person: User = self.instance
        return person
