// The editor on the form's text field, with findings, tests and diagram of the text. Without this script the field is a
// plain one, and everything works by saving.

import { EditorView } from "../../vendor/codemirror/codemirror.min.js";
import { ask, afterAPause } from "./asking.js";
import { completionFrom } from "./completing.js";
import { Diagram } from "./diagram.js";
import { makeEditor, goTo } from "./editing.js";
import { missing, showFindings, showTests } from "./listing.js";
import { markFindings } from "./marking.js";
import { Keeper } from "./keeping.js";

const PAUSE = 350;
const LONG_PAUSE = 900;

const form = document.querySelector("[data-editor]");
const part = (name) => document.querySelector(`[data-${name}]`);

function begin() {
  const field = form.querySelector("textarea");
  const revision = form.querySelector("[name=revision]");
  const words = fetch(form.dataset.words).then((answer) => (answer.ok ? answer.json() : {})).catch(() => ({}));
  const keeper = new Keeper(form, field, part("newer"));
  const text = keeper.kept() ?? field.value;
  const listen = EditorView.updateListener.of((update) => {
    if (update.docChanged) changed();
    if (update.selectionSet) diagram.follow(update.state.doc.lineAt(update.state.selection.main.head).number);
  });
  const view = makeEditor(field, text, completionFrom(words), listen);
  const diagram = new Diagram(form, part("diagram"), part("diagram-words"), (line) => goTo(view, line, 1));
  field.form.addEventListener("submit", () => { field.value = view.state.doc.toString(); keeper.sending(); });

  const known = { errors: 0, red: 0 };
  const tellMissing = (news) => {
    Object.assign(known, news);
    Object.assign(part("missing").dataset, known);
    part("missing").textContent = missing(known);
  };
  const look = afterAPause(PAUSE, async (signal) => {
    const source = view.state.doc.toString();
    const said = { source, version: form.dataset.version, revision: Number(revision.value) };
    const seen = await ask(form.dataset.look, said, signal);
    if (source !== view.state.doc.toString()) return;
    markFindings(view, seen.findings);
    tellMissing({ errors: showFindings(part("findings"), part("finding-counts"), seen.findings) });
    keeper.tell(seen.newer);
    showOutline(seen.outline);
    await diagram.draw(source, seen, signal);
  });
  const test = afterAPause(LONG_PAUSE, async (signal) => {
    const { tests } = await ask(form.dataset.tests, { source: view.state.doc.toString() }, signal);
    tellMissing({ red: showTests(part("test-list"), part("test-counts"), tests) });
  });
  const changed = () => {
    keeper.keep(view.state.doc.toString());
    look();
    test();
  };
  document.addEventListener("click", (event) => {
    const place = event.target.closest("[data-line]");
    if (!place) return;
    event.preventDefault();
    goTo(view, Number(place.dataset.line), Number(place.dataset.column));
  });
  look.now();
  test.now();
}

function showOutline(outline) {
  if (!outline.length) return;
  part("outline").replaceChildren(...outline.map(([depth, text]) => {
    const line = document.createElement("li");
    line.className = `wf-depth-${depth}`;
    line.textContent = text;
    return line;
  }));
}

if (form) begin();
