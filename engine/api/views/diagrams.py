"""Diagrams as SVG."""

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from engine.api.views.base import ApiView
from engine.services.templates import diagrams

SVG = "image/svg+xml; charset=utf-8"


def picture(svg: str) -> HttpResponse:
    """Answer an SVG that can run no scripts."""
    answer = HttpResponse(svg, content_type=SVG)
    answer["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    return answer


class VersionDiagramView(ApiView):
    def get(self, request: Request, name: str, number: int) -> HttpResponse:
        """Draw a version."""
        return picture(diagrams.version_diagram(actor=self.actor, name=name, number=number))


class InstanceDiagramView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> HttpResponse:
        """Draw an instance: what is done, where it waits, and which path it took."""
        return picture(diagrams.instance_diagram(actor=self.actor, instance_id=instance_id))
