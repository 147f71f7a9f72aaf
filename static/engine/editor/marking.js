// Mark findings in the text: the line tinted, the place underlined, the sentence under its line with a repair where one is known.

import {
  Decoration, EditorView, RangeSetBuilder, StateEffect, StateField, WidgetType, setDiagnostics,
} from "../../vendor/codemirror/codemirror.min.js";
import { upper } from "./listing.js";

const found = StateEffect.define();
const WORD = /[^\s,:[\]{}"']+/y;
const MEANT = /did you mean `([^`]+)`/i;
const MOST = 100;

class Sentence extends WidgetType {
  constructor(finding, range) {
    super();
    Object.assign(this, { finding, range });
  }

  eq(other) {
    return other.finding.message === this.finding.message && other.finding.hint === this.finding.hint;
  }

  // The outer element has no margins: the editor measures it.
  toDOM(view) {
    const outer = document.createElement("div");
    outer.className = `wf-said wf-${this.finding.severity}`;
    const inner = document.createElement("div");
    inner.className = "wf-said__words";
    const hint = document.createElement("span");
    hint.className = "wf-quiet";
    hint.textContent = sentence(this.finding.hint);
    inner.append(sentence(this.finding.message), " ", hint);
    const meant = MEANT.exec(this.finding.hint);
    if (meant) inner.append(" ", repair(view, this.range, meant[1]));
    outer.append(inner);
    return outer;
  }

  ignoreEvent() { return true; }
}

function sentence(words) {
  return words ? upper(words) + (/[.?!]$/.test(words) ? "" : ".") : "";
}

function repair(view, range, word) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "wf-repair";
  button.textContent = "Replace";
  button.addEventListener("click", () => {
    view.dispatch({ changes: { ...range, insert: word } });
    view.focus();
  });
  return button;
}

function placed(doc, finding) {
  const line = doc.line(Math.min(Math.max(finding.line, 1), doc.lines));
  const from = Math.min(line.from + Math.max(finding.column, 1) - 1, line.to);
  WORD.lastIndex = from - line.from;
  const quoted = /["']/.test(line.text[WORD.lastIndex] ?? "") ? 1 : 0;
  WORD.lastIndex += quoted;
  const word = WORD.exec(line.text);
  return { finding, line, from: from + quoted, to: word ? from + quoted + word[0].length : line.to };
}

function decorations(doc, findings) {
  const builder = new RangeSetBuilder();
  const places = findings.slice(0, MOST).map((finding) => placed(doc, finding)).sort((a, b) => a.line.from - b.line.from);
  const tinted = new Set();
  for (const { line } of places) {
    if (tinted.has(line.number)) continue;
    tinted.add(line.number);
    const here = places.filter((place) => place.line.number === line.number);
    const worst = here.some((place) => place.finding.severity === "error") ? "error" : "warning";
    builder.add(line.from, line.from, Decoration.line({ class: `wf-line-${worst}` }));
    for (const { finding, from, to } of here) {
      builder.add(line.to, line.to, Decoration.widget({ widget: new Sentence(finding, { from, to }), block: true, side: 1 }));
    }
  }
  return builder.finish();
}

export const findingMarks = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    const effect = transaction.effects.find((one) => one.is(found));
    return effect ? decorations(transaction.state.doc, effect.value) : marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function markFindings(view, findings) {
  const { doc } = view.state;
  const diagnostics = findings.slice(0, MOST).map((finding) => {
    const { from, to } = placed(doc, finding);
    return { from, to: Math.max(from, to), severity: finding.severity, message: sentence(finding.message) };
  });
  view.dispatch(setDiagnostics(view.state, diagnostics), { effects: found.of(findings) });
}
