"""Check and save several documents as one set: each may start the others, whatever their order, and all are kept or none."""

from collections import Counter
from dataclasses import replace

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.findings import ERROR, Finding
from engine.kernel.forms import FieldError
from engine.kernel.language.document_set import Piece, cut_documents
from engine.kernel.language.normalizer import Normalized, normalize
from engine.models import TemplateVersion
from engine.services.templates.versions import check_source_alone, facts_together_with, save_draft
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

MOST_DOCUMENTS = 50


def check_set(*, actor: Actor, source: str) -> list[Normalized]:
    """Check every document together with the others; findings are at their lines of the whole text."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    pieces = _pieces(source)
    names = _names(pieces)
    facts = facts_together_with(actor, frozenset(names))
    checked = [normalize(piece.source, facts, above=piece.above) for piece in pieces]
    return [_refuse_twin(one, piece, names) for one, piece in zip(checked, pieces, strict=True)]


@in_one_transaction
def save_set(*, actor: Actor, source: str) -> list[TemplateVersion]:
    """Save each document as a draft of the template that it names. All of them or none."""
    access.require_level(actor, TO_AUTHOR, "author templates")
    pieces = _pieces(source)
    names = _names(pieces)
    twins = sorted(name for name, times in names.items() if times > 1)
    if twins:
        raise _unfit(f"Two documents are named {twins[0]}. Nothing was imported.")
    return [_saved(actor, place, piece, frozenset(names)) for place, piece in enumerate(pieces, 1)]


def _pieces(source: str) -> list[Piece]:
    pieces = cut_documents(source.replace("\r\n", "\n"))
    if len(pieces) > MOST_DOCUMENTS:
        raise _unfit(f"A set has at most {MOST_DOCUMENTS} documents.")
    return pieces


def _names(pieces: list[Piece]) -> Counter[str]:
    return Counter(name for piece in pieces if (name := check_source_alone(piece.source).name))


def _refuse_twin(checked: Normalized, piece: Piece, names: Counter[str]) -> Normalized:
    if checked.name is None or names[checked.name] < 2:
        return checked
    text = f"two documents of this set are named `{checked.name}`"
    twin = Finding("duplicate_workflow", ERROR, text, piece.above + 1, 1, "workflow", "one document per workflow")
    return replace(checked, canonical=None, sha256=None, findings=(*checked.findings, twin))


def _saved(actor: Actor, place: int, piece: Piece, beside: frozenset[str]) -> TemplateVersion:
    try:
        return save_draft(actor=actor, source=piece.source, together_with=beside)
    except Invalid as refusal:
        raise _unfit(f"Document {place}: {refusal.message} Nothing was imported.") from refusal


def _unfit(message: str) -> Invalid:
    return Invalid(message, [FieldError("source", "invalid", message)])
