// The live diagram: elkjs computes the layout in a web worker, the server draws it. A click on a step moves to its line,
// and the current line marks its step.

import { bring, toWhereItIs } from "../../js/diagram.js";
import { ask } from "./asking.js";

class Elk {
  constructor(address) {
    this.worker = new Worker(address);
    this.waiting = new Map();
    this.last = 0;
    this.worker.onmessage = ({ data }) => {
      const { keep, drop } = this.waiting.get(data.id) ?? {};
      this.waiting.delete(data.id);
      if (data.error) drop?.(new Error(String(data.error.message ?? data.error)));
      else keep?.(data.data);
    };
    this.ready = this.send({ cmd: "register", algorithms: ["layered"] });
  }

  send(message) {
    this.last += 1;
    const id = this.last;
    return new Promise((keep, drop) => {
      this.waiting.set(id, { keep, drop });
      this.worker.postMessage({ id, ...message });
    });
  }

  async layOut(graph) {
    await this.ready;
    return this.send({ cmd: "layout", graph, layoutOptions: {}, options: {} });
  }
}

export class Diagram {
  constructor(form, panel, words, jump) {
    Object.assign(this, { panel, words, jump, address: form.dataset.picture, elk: new Elk(form.dataset.elk) });
    this.hint = words.textContent;
    this.places = {};
    this.shown = "";
    panel.addEventListener("click", (event) => this.lead(event.target));
    panel.addEventListener("keydown", (event) => { if (event.key === "Enter") this.lead(event.target); });
  }

  async draw(source, seen, signal) {
    this.places = seen.places;
    if (!seen.graph) {
      this.words.toggleAttribute("data-stale", Boolean(this.shown));
      this.words.textContent = this.shown ? "The last version without errors" : this.hint;
      return;
    }
    const flow = JSON.stringify(seen.graph);
    if (flow !== this.shown) {
      const began = performance.now();
      const graph = await this.elk.layOut(seen.graph);
      this.panel.dataset.laidOutIn = String(Math.round(performance.now() - began));
      const { svg } = await ask(this.address, { source, graph }, signal);
      this.panel.innerHTML = svg;
      if (!this.shown) toWhereItIs(this.panel);
      this.shown = flow;
      this.makeLinks();
    }
    this.words.removeAttribute("data-stale");
    this.words.textContent = this.hint;
    this.markFindings(seen.findings);
  }

  // For screen readers, a diagram of links is no longer one image.
  makeLinks() {
    this.panel.querySelector("svg")?.setAttribute("role", "group");
    for (const node of this.panel.querySelectorAll("[data-step]")) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "link");
    }
  }

  idOf(node) { return node.dataset.step.split("/").pop(); }

  lead(target) {
    const node = target.closest("[data-step]");
    const place = node && this.places[this.idOf(node)];
    if (place) this.jump(place.line);
  }

  stepAt(line) {
    const inside = Object.entries(this.places).filter(([, place]) => place.line <= line && line <= place.last);
    return inside.sort(([, one], [, other]) => other.line - one.line)[0]?.[0];
  }

  follow(line) {
    const here = this.stepAt(line);
    for (const node of this.panel.querySelectorAll("[data-step]")) {
      const chosen = this.idOf(node) === here;
      if (chosen && !node.classList.contains("wfd-is-chosen")) bring(this.panel, node);
      node.classList.toggle("wfd-is-chosen", chosen);
    }
  }

  markFindings(findings) {
    const wrong = new Set(findings.filter((one) => one.severity === "error").map((one) => this.stepAt(one.line)));
    for (const node of this.panel.querySelectorAll("[data-step]")) {
      node.classList.toggle("wfd-is-wrong", wrong.has(this.idOf(node)));
    }
  }
}
