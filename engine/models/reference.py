"""References that may be in use only once at a time."""

from django.db import models

from engine.models.base import PartIdRow
from engine.models.instance import Instance
from engine.models.template import Template


class HeldReference(PartIdRow):
    """That an instance holds a reference of a template whose references are unique; a later one takes it over when it is over."""

    template = models.ForeignKey(
        Template, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    reference = models.CharField(max_length=200)
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False)

    class Meta:
        db_table = "wf_held_references"
        constraints = (models.UniqueConstraint(fields=("template", "reference"), name="reference_held_once"),)

    def __str__(self) -> str:
        return self.reference
