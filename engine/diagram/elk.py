"""Run elkjs inside quickjs, in a process of its own: one graph as JSON comes in, its layout goes out.

The engine needs some 40 MB and a second of one core, which neither a web request nor a worker should have to keep; and whatever
goes wrong in there ends with this process. Nothing of Django is imported here.
"""

import json
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


def lay_out(graph: dict[str, Any]) -> dict[str, Any]:
    """Return the graph with places for its nodes, edges and labels, or an object with the `error`."""
    context = quickjs.Context()
    context.set_memory_limit(MEMORY)
    context.set_max_stack_size(STACK)
    context.set_time_limit(SECONDS)
    context.eval(WORLD)
    context.eval(SCRIPT.read_text(encoding="utf-8"))
    context.eval("onmessage({data: {id: 0, cmd: 'register', algorithms: ['layered']}})")
    answer: dict[str, Any] = json.loads(context.eval(ASK)(json.dumps(graph)))
    return answer


if __name__ == "__main__":
    json.dump(lay_out(json.load(sys.stdin)), sys.stdout)
