"""Compute the geometry of a flow: where each node is and how each edge runs. Made once per version, then stored.

elkjs does the work (layered, downwards, the author's order kept); the same flow always gets the same geometry.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.diagram.graph import END, START, Edge, Flow, Node
from engine.diagram.labels import shortened
from engine.diagram.text_width import text_width

Geometry = dict[str, Any]

MADE_WITH = "elkjs 0.12.1, drawing 1"
"""Raise this when the same flow would be laid out differently: older geometry is then made anew."""
SECONDS = 40
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "engine.diagram.elk_process")
TEXT, SMALL = 13.0, 12.0
FURTHEST = 1_000_000.0
"""No point of a picture is further away, whether the server or a browser laid it out."""
ROOM = 20.0
"""By how much a node may grow beyond its place: two neighbours are 22 apart."""
HEIGHTS: Mapping[str, float] = {"joint": 8, "flow": 30, "start": 34, "end": 34, "bad": 34, "listen": 34}
OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "DOWN",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.randomSeed": "1",
    "elk.padding": "[top=16,left=16,bottom=16,right=16]",
    "elk.spacing.nodeNode": "22",
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
    """Place every node and edge of a flow, and wait for it."""
    layout = Layout([flow])
    layout.wait()
    found = layout.result()[0]
    if found is None:
        raise LayoutFailed("elkjs gave no layout.")
    return found


class Layout:
    """A layout of several flows that runs in its own process, in parallel to its owner."""

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.flows = flows
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115  closed when its result is read
        self._deadline = time.monotonic() + SECONDS
        with tempfile.TemporaryFile() as question:
            question.write(json.dumps([graph_of(flow) for flow in flows]).encode())
            question.seek(0)
            self._child = subprocess.Popen(
                COMMAND, cwd=ROOT, stdin=question, stdout=self._answer, stderr=subprocess.DEVNULL
            )

    def is_over(self) -> bool:
        """Return whether it has ended; one that takes too long is ended here."""
        if self._child.poll() is None and time.monotonic() > self._deadline:
            self._child.kill()
        return self._child.poll() is not None

    def wait(self) -> None:
        """Wait for the end."""
        while not self.is_over():
            time.sleep(0.01)

    def result(self) -> list[Geometry | None]:
        """Return a geometry for each flow, or nothing where there is none."""
        self._answer.seek(0)
        text = self._answer.read()
        self._answer.close()
        if self._child.wait() != 0:
            return [None] * len(self.flows)
        answers = json.loads(text)
        return [
            geometry_of(flow, answer["graph"]) if "graph" in answer else None
            for flow, answer in zip(self.flows, answers, strict=True)
        ]


def graph_of(flow: Flow) -> dict[str, Any]:
    """Write a flow as elkjs reads it, with the size of everything; the browser's elkjs gets the same."""
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
    """Return how much room a node needs."""
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


def geometry_of(flow: Flow, graph: dict[str, Any]) -> Geometry:
    """Take positions from elkjs' answer, and everything else from the flow."""
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


def reworded(geometry: Geometry, flow: Flow) -> Geometry:
    """Replace the texts of a geometry with those of its flow, which may be in another language than at layout time.

    Positions do not change, except that nodes grow a little into the room around them.
    """
    laid_out = [(edge["source"], edge["target"]) for edge in geometry["edges"]]
    if laid_out != [(edge.source, edge.target) for edge in flow.edges]:
        return geometry
    nodes = [_renamed(node, flow.nodes[node["id"]]) for node in geometry["nodes"]]
    edges = [run | {"label": edge.label} for run, edge in zip(geometry["edges"], flow.edges, strict=True)]
    return {**geometry, "nodes": nodes, "edges": edges}


def _renamed(place: dict[str, Any], node: Node) -> dict[str, Any]:
    more = min(max(size_of(node)[0] - place["width"], 0), ROOM)
    return place | {"title": node.title, "x": place["x"] - more / 2, "width": place["width"] + more}


def geometry_from_outside(flow: Flow, graph: Any) -> Geometry:
    """Take a layout that a browser made: whatever else it sent, only numbers come of it."""
    try:
        geometry = geometry_of(flow, graph)
        _refuse_odd_numbers(geometry)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise LayoutFailed("This is no layout of that flow.") from problem
    return geometry


def _refuse_odd_numbers(geometry: Geometry) -> None:
    """Refuse what no picture can show: places beyond any screen, infinity, and what is no number."""
    places = [geometry, *geometry["nodes"]]
    found = [place[key] for place in places for key in ("x", "y", "width", "height") if key in place]
    found += [
        value
        for edge in geometry["edges"]
        for point in (*edge["points"], edge.get("label_at") or ())
        for value in point
    ]
    if not all(isinstance(value, (int, float)) and abs(value) < FURTHEST for value in found):
        raise ValueError("a position is outside of every picture")


def _run(way: dict[str, Any]) -> dict[str, Any]:
    """Read how an edge runs, and where its label is."""
    section = way["sections"][0]
    points = [section["startPoint"], *section.get("bendPoints", ()), section["endPoint"]]
    run: dict[str, Any] = {"points": [[round(point["x"], 1), round(point["y"], 1)] for point in points]}
    for label in way.get("labels", ()):
        run["label_at"] = [round(label["x"] + label["width"] / 2, 1), round(label["y"] + label["height"] / 2, 1)]
    return run
