"""Diagrams: the positions of a version's nodes. A worker makes them; pages draw them with the state of an instance."""

from django.db import models

from engine.models.base import OrderedJSONField, PartRow
from engine.models.template import TemplateVersion


class Diagram(PartRow):
    """The geometry of one version, good for the definition and the drawer that it names."""

    version = models.OneToOneField(
        TemplateVersion, on_delete=models.CASCADE, primary_key=True, related_name="diagram", db_constraint=False
    )
    sha256 = models.CharField(max_length=64)
    made_with = models.CharField(max_length=60)
    geometry = OrderedJSONField(null=True)
    """Empty where the layout failed: it is tried again after a while, or when the definition or the drawer changes."""
    made_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "wf_diagrams"

    def __str__(self) -> str:
        return f"Diagram of {self.version}"
