"""Forms that hand what was typed to one service; what it refuses comes back at its field, and what was typed stays."""

from typing import Any

from django import forms
from django.db import transaction
from django.http import Http404, HttpRequest

from engine.admin.permissions import actor_of
from engine.errors import Invalid, NotFound, WorkflowError
from workflowplatform.accounts.actor import Actor


class ServiceForm(forms.ModelForm):
    """Call a service once the fields are readable. The rules are the service's; this only translates.

    The call stands in the last stage of cleaning because that is where a refusal still becomes a field's error.
    Subclasses declare plain fields (`Meta.fields` stays empty, so that nothing is written past the service) and `act`.
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
            self.add_error(None, refusal.message)

    def refuse(self, refusal: Invalid) -> None:
        """Put each of a service's field errors where the person looks."""
        for error in refusal.errors:
            field, _, inside = error.path.partition(".")
            words = f"{inside}: {error.message}" if inside else error.message
            self.add_error(field if field in self.fields else None, words)
        if not refusal.errors:
            self.add_error(None, refusal.message)

    def save(self, commit: bool = True) -> Any:
        return self.done

    def save_m2m(self) -> None:
        """Save nothing: the service already did."""
