"""The form around the editor: it passes the text to the service, and never loses what was typed."""

from typing import Any, cast

from django import forms
from django.http import QueryDict

from engine import access
from engine.admin.authoring.source_lines import ComparedLine, compared
from engine.admin.service_forms import ServiceForm
from engine.errors import Conflict
from engine.models import TemplateVersion
from engine.services.templates import versions as templates

FIRST_LINES = """\
workflow: my-workflow
title: My workflow
steps:
  - id: review
    task:
      title: Review
      roles: [finance]
      outcomes: [approve, reject]
"""


class SourceInput(forms.Textarea):
    """A plain text field; with scripts, the editor replaces it."""

    def __init__(self) -> None:
        super().__init__(
            attrs={"class": "wf-source", "rows": 28, "spellcheck": "false", "wrap": "off", "autocomplete": "off"}
        )


class VersionForm(ServiceForm):
    source = forms.CharField(strip=False, widget=SourceInput())
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput())
    saved_meanwhile: str = ""
    compared: tuple[ComparedLine, ...] = ()

    class Meta(ServiceForm.Meta):
        model = TemplateVersion

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.initial["source"] = FIRST_LINES
        else:
            self.initial.update(source=self.instance.source, revision=self.instance.revision)

    def clean_source(self) -> str:
        """Use the line ends of files: browsers send carriage returns."""
        source: str = self.cleaned_data["source"]
        return source.replace("\r\n", "\n")

    def act(self, typed: dict[str, Any]) -> TemplateVersion:
        if self.instance._state.adding:
            return templates.save_draft(actor=self.actor, source=typed["source"])
        name, number = self.instance.template.name, self.instance.number
        try:
            return templates.save_draft(
                actor=self.actor, source=typed["source"], name=name, number=number, revision=typed["revision"]
            )
        except Conflict as conflict:
            self._show_saved(conflict, access.version_of(self.actor, name, number))
            raise

    def _show_saved(self, conflict: Conflict, now: TemplateVersion) -> None:
        """Show the other author's text next to what was typed; saving again is then a decision."""
        if "revision" in conflict.facts:
            self.saved_meanwhile = now.source
            self.compared = tuple(compared(now.source, self.cleaned_data["source"]))
            typed = cast(QueryDict, self.data).copy()
            typed["revision"] = str(now.revision)
            self.data = typed
