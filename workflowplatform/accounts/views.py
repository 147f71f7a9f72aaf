"""The account pages: sign in and out, passwords, invitations, settings. Django's own views do the work."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from django.views.generic import UpdateView

from workflowplatform.accounts import forms
from workflowplatform.accounts.mails import invitation_tokens
from workflowplatform.accounts.models import User


class SignIn(views.LoginView):
    template_name = "accounts/sign_in.html"
    authentication_form = forms.SignInForm
    redirect_authenticated_user = True


def locked_out(request: HttpRequest, credentials: Any = None, *args: Any, **kwargs: Any) -> HttpResponse:
    """Say that too many attempts failed; django-axes calls this by AXES_LOCKOUT_CALLABLE."""
    return render(request, "accounts/locked_out.html", status=429)


class ChangePassword(views.PasswordChangeView):
    template_name = "accounts/password_change.html"
    form_class = forms.ChangePasswordForm
    success_url = reverse_lazy("inbox:mine")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Password changed."))
        return super().form_valid(form)


class AskReset(views.PasswordResetView):
    template_name = "accounts/password_reset.html"
    form_class = forms.ResetForm
    success_url = reverse_lazy("accounts:password_reset_done")


class ResetAsked(views.PasswordResetDoneView):
    template_name = "accounts/password_reset_done.html"


class SetPassword(views.PasswordResetConfirmView):
    """Choose a new password by a mailed link."""

    template_name = "accounts/password_set.html"
    form_class = forms.SetPasswordForm
    success_url = reverse_lazy("accounts:login")
    said = gettext_lazy("Password changed. Sign in with it.")
    extra_context = {
        "heading": gettext_lazy("Choose a new password"),
        "button": gettext_lazy("Change password"),
        "too_old": gettext_lazy("This link was used already or is too old. Ask for a new one."),
    }

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, str(self.said))
        return super().form_valid(form)


class AcceptInvitation(SetPassword):
    """Choose the first password, and be signed in."""

    token_generator = invitation_tokens
    success_url = reverse_lazy("inbox:mine")
    said = gettext_lazy("Welcome. Your account is ready.")
    extra_context = {
        "heading": gettext_lazy("Welcome: choose your password"),
        "button": gettext_lazy("Start"),
        "too_old": gettext_lazy("This invitation was used already or is too old. Ask who invited you for a new one."),
    }

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        login(self.request, form.user, backend="workflowplatform.accounts.backends.PeopleBackend")
        return answer

    def get_user(self, uidb64: str) -> User | None:
        """Find the invited person; a deactivated one's link is dead."""
        person = super().get_user(uidb64)
        return person if isinstance(person, User) and person.is_active else None


@require_POST
@login_required
def keys(request: HttpRequest) -> HttpResponse:
    """Switch single-key shortcuts on or off; the dialog that lists them asks for this."""
    assert isinstance(request.user, User)
    User.objects.filter(pk=request.user.pk).update(single_keys=request.POST.get("on") == "1")
    return HttpResponse(status=204)


class Settings(LoginRequiredMixin, UpdateView):  # type: ignore[type-arg]
    """Choose look and time zone."""

    template_name = "accounts/settings.html"
    form_class = forms.SettingsForm
    success_url = reverse_lazy("accounts:settings")

    def get_object(self, queryset: Any = None) -> User:
        assert isinstance(self.request.user, User)
        return self.request.user

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Settings saved."))
        return super().form_valid(form)
