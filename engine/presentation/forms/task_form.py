"""The form of a task: the schema's fields, and the comment that its rule asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from engine.kernel.forms import FieldError
from engine.kernel.signals import Json
from engine.models import TaskDraft
from engine.presentation.forms.blocks import Block
from engine.presentation.forms.conditions import Schema
from engine.presentation.forms.error_messages import said_of, short_words
from engine.presentation.forms.form import Path, SchemaForm, Wrong, read_path
from engine.presentation.forms.tree import Node
from engine.presentation.forms.values import Fact, fact_of

COMMENT = "comment"
BESIDE_THE_FIELDS = (("checklist",), ("attachments",), ("file",))
"""Where errors point that belong to no field of the form."""


@dataclass(frozen=True, slots=True)
class CommentRule:
    """Whether a task takes a comment, and for which outcomes one is needed."""

    asked: bool = False
    needed_for: tuple[str, ...] = ()
    always: bool = False


def comment_rule(outcomes: Sequence[Mapping[str, Any]], usual: str) -> CommentRule:
    """Return which outcomes need a comment: by the task's rule, or the outcome's own."""
    rules = [(outcome, outcome.get("comment") or usual) for outcome in outcomes]
    needed = [
        outcome["title"]
        for outcome, rule in rules
        if rule == "always" or (rule == "on_reject" and outcome.get("reject"))
    ]
    return CommentRule(
        asked=any(rule != "never" for _outcome, rule in rules),
        needed_for=tuple(needed),
        always=len(needed) == len(rules),
    )


class TaskForm(SchemaForm):
    """A task's form, with the comment that its rule asks for."""

    keeps_files = True

    def __init__(
        self,
        schema: Schema | None,
        data: Any = None,
        prefill: Mapping[str, Json] | None = None,
        comment: CommentRule | None = None,
        draft: TaskDraft | None = None,
    ) -> None:
        super().__init__(schema, data, prefill, draft.values if draft else None)
        self.kept_draft, self.comment_rule = draft, comment
        if comment and comment.asked:
            self.fields[COMMENT] = _comment_field(comment)
            self.initial[COMMENT] = draft.comment if draft else ""

    def begun_again(self) -> "TaskForm":
        """Return the same form with all that was typed as its beginning."""
        self.is_valid()
        typed = TaskDraft(values=self.draft_values(), comment=self.comment_typed())
        again = TaskForm(self.schema, None, self.prefill, self.comment_rule, typed)
        again.kept_draft = None
        return again

    def comment_block(self) -> Block | None:
        """Return the comment's place, if the task takes one."""
        return Block(_("Comment"), "field", field=self[COMMENT]) if COMMENT in self.fields else None

    def preview(self) -> list[Fact]:
        """Show what is filled in so far, the draft's comment too."""
        return super().preview() + self._comment_fact()

    def typed(self) -> list[Fact]:
        """Show what the person typed, the comment too."""
        return super().typed() + self._comment_fact()

    def _comment_fact(self) -> list[Fact]:
        comment = self[COMMENT].value() if COMMENT in self.fields else None
        return [replace(fact_of(COMMENT, comment), label=_("Comment"))] if comment else []

    def comment_typed(self) -> str:
        """Return the comment as it was typed, for a draft."""
        return str(self[COMMENT].data or "") if COMMENT in self.fields else ""

    def comment(self) -> str:
        """Return the comment of a valid form."""
        return str(self.cleaned_data.get(COMMENT, ""))

    def take_errors(self, errors: Sequence[FieldError], within: str = "") -> None:
        """Put errors at their fields; those about files and the checklist say by themselves what they mean."""
        for error in errors:
            if read_path(error.path)[:1] in BESIDE_THE_FIELDS:
                self.add_error(None, forms.ValidationError(said_of(error), code=error.code))
            else:
                super().take_errors([error], within)

    def _take_error(self, node: Node | None, path: Path, error: FieldError) -> None:
        if node is None and path == (COMMENT,) and COMMENT in self.fields:
            self.add_error(COMMENT, forms.ValidationError(said_of(error), code=error.code))
        else:
            super()._take_error(node, path, error)

    def wrong_places(self) -> list[Wrong]:
        """List what needs attention, the comment last."""
        if COMMENT not in self.errors:
            return super().wrong_places()
        comment = Wrong(self[COMMENT].auto_id, _("Comment"), short_words(self.errors[COMMENT].as_data()))
        return [*super().wrong_places(), comment]


def _comment_field(rule: CommentRule) -> forms.Field:
    widget = forms.Textarea({"class": "wf-textarea", "rows": 3})
    field = forms.CharField(required=False, widget=widget, label=_("Comment"))
    field.wide = True  # type: ignore[attr-defined]
    field.optional = not rule.needed_for  # type: ignore[attr-defined]
    if rule.needed_for and not rule.always:
        field.aside = _("needed for: %(outcomes)s") % {"outcomes": ", ".join(rule.needed_for)}  # type: ignore[attr-defined]
    return field
