"""The account pages: sign in and out, passwords, invitations, settings. Django's own views do the work."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from django.views.generic import UpdateView

from engine.services.people import sign_in_log
from workflowplatform.accounts import forms, mails, sign_in_throttle
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.mails import invitation_tokens
from workflowplatform.accounts.models import User
from workflowplatform.database import tenancy
from workflowplatform.http.client_address import caller_address
from workflowplatform.http.public_links import origin_for

QUARTER_OF_AN_HOUR = 900


class SignIn(views.LoginView):
    """Sign in; failures are slowed down and kept in the person's chain."""

    template_name = "accounts/sign_in.html"
    authentication_form = forms.SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        """Make users wait who failed too often, before the password is checked."""
        name = self._name()
        wait = sign_in_throttle.seconds_to_wait(name, caller_address(request)) if name else 0
        if not wait:
            return super().post(request, *args, **kwargs)
        self._note_lock(wait)
        return too_many(request, wait)

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        sign_in_throttle.succeed(self._name(), caller_address(self.request))
        sign_in_log.note_sign_in_act(person=form.get_user(), action="sign_in", address=caller_address(self.request))
        return answer

    def form_invalid(self, form: Any) -> HttpResponse:
        if getattr(self.request, "axes_locked_out", False):
            self._note_lock(QUARTER_OF_AN_HOUR)
        elif self._name():
            sign_in_log.note_attempt(name=self._name(), action="fail_sign_in", address=caller_address(self.request))
        return super().form_invalid(form)

    def _name(self) -> str:
        return self.request.POST.get("username", "").strip().lower().replace("\0", "")

    def _note_lock(self, seconds: int) -> None:
        name, address = self._name(), caller_address(self.request)
        if sign_in_throttle.is_news(f"{name}|{address}", max(seconds, 60)):
            sign_in_log.note_attempt(name=name, action="lock_sign_in", address=address)


class SignOut(views.LogoutView):
    """Sign out, which the audit of the person records."""

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        person, address = request.user, caller_address(request)
        answer = super().post(request, *args, **kwargs)
        if isinstance(person, User):
            sign_in_log.note_sign_in_act(person=person, action="sign_out", address=address)
        return answer


def locked_out(request: HttpRequest, credentials: Any = None, *args: Any, **kwargs: Any) -> HttpResponse:
    """Answer that too many attempts failed; django-axes calls this by AXES_LOCKOUT_CALLABLE."""
    return too_many(request, QUARTER_OF_AN_HOUR)


def too_many(request: HttpRequest, seconds: int) -> HttpResponse:
    """Describe how long to wait."""
    context = {"seconds": seconds if seconds < 60 else 0, "minutes": -(-seconds // 60), "mails": mails.can_send()}
    answer = render(request, "accounts/locked_out.html", context, status=429)
    answer["Retry-After"] = str(seconds)
    return answer


class ChangePassword(views.PasswordChangeView):
    template_name = "accounts/password_change.html"
    form_class = forms.ChangePasswordForm
    success_url = reverse_lazy("inbox:mine")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Password changed."), extra_tags="password.changed")
        answer = super().form_valid(form)
        note_password(self.request, form, "change_password")
        return answer


def note_password(request: HttpRequest, form: Any, action: str) -> None:
    """Keep that a person chose a password, and end their tokens where they wished it."""
    sign_in_log.note_sign_in_act(person=form.user, action=action, address=caller_address(request))
    if form.cleaned_data.get("end_tokens"):
        sign_in_log.end_all_tokens(person=User.objects.get(pk=form.user.pk), actor=actor_of(form.user, roles=()))


class AskReset(views.PasswordResetView):
    """Request a link. Too many requests have to wait; an address that was requested too often gets no e-mails for a while."""

    template_name = "accounts/password_reset.html"
    form_class = forms.ResetForm
    success_url = reverse_lazy("accounts:password_reset_done")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, mails=mails.can_send())

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if not mails.can_send():
            return self.get(request, *args, **kwargs)
        wait = sign_in_throttle.take_turn("reset_address", caller_address(request))
        return too_many(request, wait) if wait else super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Answer the same whether or not the address is anybody's."""
        if not sign_in_throttle.take_turn("reset_mail", form.cleaned_data["email"].lower()):
            base, address = origin_for(self.request), caller_address(self.request)
            for person in form.people():
                sign_in_log.ask_reset(person=person, address=address, base_url=base)
        return HttpResponseRedirect(str(self.get_success_url()))


class ResetAsked(views.PasswordResetDoneView):
    template_name = "accounts/password_reset_done.html"


class SetPassword(views.PasswordResetConfirmView):
    """Choose a new password by a mailed link."""

    template_name = "accounts/password_set.html"
    form_class: type[forms.SavesPassword] = forms.SetPasswordForm
    success_url = reverse_lazy("accounts:login")
    said = gettext_lazy("Password changed. Sign in with it.")
    said_code = "password.chosen"
    extra_context = {
        "page_name": "password_reset_confirm",
        "heading": gettext_lazy("Choose a new password"),
        "button": gettext_lazy("Change password"),
        "too_old": gettext_lazy("This link was already used or has expired. Request a new one."),
    }

    def form_valid(self, form: Any) -> HttpResponse:
        tenancy.asked_by(form.user.tenant_id)
        messages.success(self.request, str(self.said), extra_tags=self.said_code)
        answer = super().form_valid(form)
        note_password(self.request, form, "reset_password")
        return answer

    def get_user(self, uidb64: str) -> Any:
        """Find whose link it is, whatever their tenant."""
        with tenancy.crossing("sign-in"):
            return super().get_user(uidb64)


class AcceptInvitation(SetPassword):
    """Choose the first password, and be signed in."""

    token_generator = invitation_tokens
    form_class = forms.FirstPasswordForm
    success_url = reverse_lazy("inbox:mine")
    said = gettext_lazy("Welcome. Your account is ready.")
    said_code = "account.ready"
    extra_context = {
        "page_name": "invitation",
        "heading": gettext_lazy("Welcome: choose your password"),
        "button": gettext_lazy("Start"),
        "too_old": gettext_lazy(
            "This invitation was already used or has expired. Ask the person who invited you for a new one."
        ),
    }

    def form_valid(self, form: Any) -> HttpResponse:
        answer = super().form_valid(form)
        login(self.request, form.user, backend="workflowplatform.accounts.backends.PeopleBackend")
        sign_in_log.note_sign_in_act(person=form.user, action="sign_in", address=caller_address(self.request))
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
        messages.success(self.request, _("Settings saved."), extra_tags="settings.saved")
        return super().form_valid(form)
