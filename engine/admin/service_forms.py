"""Forms that pass their values to one service and show its refusals at the fields; entries are kept."""

from typing import Any

from django import forms
from django.db import transaction
from django.http import Http404, HttpRequest

from engine.admin.permissions import actor_of
from engine.errors import Invalid, NotFound, WorkflowError
from workflowplatform.accounts.actor import Actor


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Call a service with the cleaned fields. The rules are in the service; the form only translates.

    The call is made in the last stage of cleaning, because a refusal can still become a field error there.
    Subclasses declare plain fields and `act`; `Meta.fields` stays empty, so that nothing is written without the service.
    """

    request: HttpRequest
    done: Any = None

    class Meta:
        fields: tuple[str, ...] = ()

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    def act(self, typed: dict[str, Any]) -> Any:
        """Call the service and return the row it made or changed."""
        raise NotImplementedError

    def _post_clean(self) -> None:
        if self.errors:
            return
        try:
            with transaction.atomic():
                self.done = self.act(self.cleaned_data)
        except NotFound as gone:
            raise Http404 from gone
        except Invalid as refusal:
            self.refuse(refusal)
        except WorkflowError as refusal:
            self.add_error(None, forms.ValidationError(refusal.message, code=refusal.code))

    def refuse(self, refusal: Invalid) -> None:
        """Show each field error of a service at its field."""
        for error in refusal.errors:
            field, _, inside = error.path.partition(".")
            words = f"{inside}: {error.message}" if inside else error.message
            self.add_error(field if field in self.fields else None, forms.ValidationError(words, code=error.code))
        if not refusal.errors:
            self.add_error(None, forms.ValidationError(refusal.message, code=refusal.code))

    def save(self, commit: bool = True) -> Any:
        return self.done

    def save_m2m(self) -> None:
        """Do nothing: the service already saved."""
