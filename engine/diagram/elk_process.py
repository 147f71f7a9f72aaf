"""Run elkjs inside quickjs, in a process of its own: a list of graphs comes in as JSON, their layouts go out.

The engine needs some 40 MB and a second of one core, which neither a web request nor a worker should have to keep; and whatever
goes wrong in there ends with this process. Nothing of Django is imported here.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import quickjs

SCRIPT = Path(__file__).parents[2] / "static" / "vendor" / "elkjs" / "elk-worker.min.js"
MEMORY = 512 * 1024 * 1024
STACK = 16 * 1024 * 1024
SECONDS = 30

WORLD = """
var self = globalThis, answers = [];
self.postMessage = function (message) { answers.push(message); };
function setTimeout(act) { act(); }
"""
ASK = """
(function (text) {
  onmessage({data: {id: 1, cmd: "layout", graph: JSON.parse(text), layoutOptions: {}, options: {}}});
  var answer = answers.pop();
  return JSON.stringify(answer.error ? {error: String(answer.error.message || answer.error)} : {graph: answer.data});
})
"""


def lay_out_all(graphs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each graph `{graph}` with places for its nodes, edges and labels, or `{error}`."""
    ask = _engine().eval(ASK)
    return [_lay_out(ask, graph) for graph in graphs]


def _lay_out(ask: Any, graph: dict[str, Any]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(ask(json.dumps(graph)))
    except quickjs.JSException as error:
        return {"error": str(error)[:200]}
    return answer


def _engine() -> quickjs.Context:
    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(STACK)
    context.set_time_limit(SECONDS)
    context.eval(WORLD)
    context.eval(SCRIPT.read_text(encoding="utf-8"))
    context.eval("onmessage({data: {id: 0, cmd: 'register', algorithms: ['layered']}})")
    return context


def _end_with_parent() -> None:
    """Leave nothing running when the worker that asked is killed; elsewhere the time limit does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    os.nice(10)
    _end_with_parent()
    json.dump(lay_out_all(json.load(sys.stdin)), sys.stdout)
