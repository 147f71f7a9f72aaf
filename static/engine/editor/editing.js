// Make the editor: YAML, our colours, findings at their lines, completion.

import {
  EditorState, EditorView, HighlightStyle, acceptCompletion, autocompletion, bracketMatching, closeBrackets,
  closeBracketsKeymap, completionKeymap, defaultKeymap, drawSelection, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, history, historyKeymap, indentLess, indentMore, indentOnInput, indentUnit, keymap, lineNumbers,
  lintGutter, lintKeymap, searchKeymap, syntaxHighlighting, tags, yaml,
} from "../../vendor/codemirror/codemirror.min.js";
import { findingMarks } from "./marking.js";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: "wf-hl-key" },
  { tag: [tags.string, tags.special(tags.string)], class: "wf-hl-text" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: "wf-hl-value" },
  { tag: tags.comment, class: "wf-hl-comment" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], class: "wf-hl-sign" },
]);

// Tab indents, as authors expect; Escape and then Tab leaves the editor, as WCAG 2.1.2 asks.
const tabs = [
  { key: "Tab", run: (view) => acceptCompletion(view) || indentMore(view), shift: indentLess },
];

export function makeEditor(field, text, complete, listen) {
  const label = document.querySelector(`label[for="${field.id}"]`);
  label.removeAttribute("for");
  const view = new EditorView({
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), drawSelection(),
        indentUnit.of("  "), EditorState.tabSize.of(2), indentOnInput(), bracketMatching(), closeBrackets(),
        autocompletion({ override: [complete], activateOnTyping: true }), highlightActiveLine(), yaml(),
        syntaxHighlighting(colours), lintGutter(), findingMarks, listen,
        keymap.of([...closeBracketsKeymap, ...tabs, ...completionKeymap, ...defaultKeymap, ...searchKeymap,
          ...historyKeymap, ...lintKeymap, { key: "Mod-s", run: () => save(field) }]),
        EditorView.contentAttributes.of({ "aria-labelledby": label.id, spellcheck: "false" }),
      ],
    }),
  });
  field.hidden = true;
  field.after(view.dom);
  return view;
}

function save(field) {
  field.form.requestSubmit(document.querySelector(`[name=_save][form="${field.form.id}"]`));
  return true;
}

export function goTo(view, line, column) {
  const found = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
  const head = Math.min(found.from + Math.max(column, 1) - 1, found.to);
  view.dispatch({ selection: { anchor: head }, effects: EditorView.scrollIntoView(head, { y: "center" }) });
  view.focus();
}
