"""Give a flow its geometry: where each node stands and how each edge runs. Made once a version, then stored.

elkjs does the work (layered, downwards, the author's order kept); the same flow always gets the same geometry.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from engine.diagram.flow import END, START, Edge, Flow, Node
from engine.diagram.measure import text_width
from engine.diagram.wording import shortened

Geometry = dict[str, Any]

MADE_WITH = "elkjs 0.12.1, drawing 1"
"""Raise this when the same flow would be laid out differently: older geometry is then made anew."""
SECONDS = 40
TEXT, SMALL = 13.0, 12.0
HEIGHTS: Mapping[str, float] = {"joint": 8, "flow": 30, "start": 34, "end": 34, "bad": 34, "listen": 34}
OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "DOWN",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.randomSeed": "1",
    "elk.padding": "[top=16,left=16,bottom=16,right=16]",
    "elk.spacing.nodeNode": "28",
    "elk.spacing.edgeNode": "18",
    "elk.spacing.edgeEdge": "12",
    "elk.spacing.edgeLabel": "4",
    "elk.layered.spacing.nodeNodeBetweenLayers": "30",
    "elk.layered.spacing.edgeNodeBetweenLayers": "14",
    "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
    "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
    "elk.layered.nodePlacement.favorStraightEdges": "true",
    "elk.layered.mergeEdges": "false",
}


class LayoutFailed(Exception):
    """The engine is not there, took too long or gave up; the outline stands in for the picture."""


def lay_out(flow: Flow) -> Geometry:
    """Place every node and edge of a flow."""
    answer = _ask(_graph(flow))
    return _geometry(flow, answer)


def _ask(graph: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "engine.diagram.elk"]
    try:
        done = subprocess.run(  # noqa: S603  our own module
            command, input=json.dumps(graph), capture_output=True, text=True, timeout=SECONDS, check=True
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise LayoutFailed(f"elkjs gave no layout: {type(error).__name__}") from error
    if "graph" not in answer:
        raise LayoutFailed(f"elkjs gave no layout: {answer.get('error', 'no reason')}")
    return answer["graph"]  # type: ignore[no-any-return]


def _graph(flow: Flow) -> dict[str, Any]:
    return {
        "id": "flow",
        "layoutOptions": OPTIONS,
        "children": [_child(node) for node in flow.nodes.values()],
        "edges": [_way(number, edge) for number, edge in enumerate(flow.edges)],
    }


def _child(node: Node) -> dict[str, Any]:
    width, height = size_of(node)
    child: dict[str, Any] = {"id": node.id, "width": width, "height": height}
    constraint = {START: "FIRST", END: "LAST"}.get(node.id)
    return child | ({"layoutOptions": {"elk.layered.layering.layerConstraint": constraint}} if constraint else {})


def size_of(node: Node) -> tuple[float, float]:
    """Tell how much room a node needs."""
    height = HEIGHTS.get(node.look, 38)
    if node.look == "joint":
        return 44, height
    slant = 20 if node.look in ("choice", "value") else 0
    return round(text_width(shortened(node.title), TEXT) + 52 + slant), height


def _way(number: int, edge: Edge) -> dict[str, Any]:
    way: dict[str, Any] = {"id": f"e{number}", "sources": [edge.source], "targets": [edge.target]}
    if edge.label:
        way["labels"] = [{"text": edge.label, "width": round(text_width(edge.label, SMALL)) + 6, "height": 16}]
    return way


def _geometry(flow: Flow, graph: dict[str, Any]) -> Geometry:
    places = {child["id"]: child for child in graph["children"]}
    nodes = [
        asdict(node) | {key: round(places[node.id][key], 1) for key in ("x", "y", "width", "height")}
        for node in flow.nodes.values()
    ]
    edges = [asdict(edge) | _run(graph["edges"][number]) for number, edge in enumerate(flow.edges)]
    return {
        "made_with": MADE_WITH,
        "title": flow.title,
        "width": round(graph["width"], 1),
        "height": round(graph["height"], 1),
        "nodes": nodes,
        "edges": edges,
    }


def _run(way: dict[str, Any]) -> dict[str, Any]:
    """Read how an edge runs, and where its word stands."""
    section = way["sections"][0]
    points = [section["startPoint"], *section.get("bendPoints", ()), section["endPoint"]]
    run: dict[str, Any] = {"points": [[round(point["x"], 1), round(point["y"], 1)] for point in points]}
    for label in way.get("labels", ()):
        run["label_at"] = [round(label["x"] + label["width"] / 2, 1), round(label["y"] + label["height"] / 2, 1)]
    return run
