// List findings and test results under the editor, as the page without scripts lists them.

function element(name, className, ...inside) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...inside);
  return made;
}

const tag = (tone, words) => element("span", `wf-tag wf-${tone}`, words);
export const quoted = (words) => words.replace(/`([^`]*)`/g, "“$1”");
export const upper = (words) => (words ? quoted(words[0].toUpperCase() + words.slice(1)) : "");

function place(line, column) {
  const link = element("a", "wf-place", column ? `${line}:${column}` : String(line));
  link.href = "#source-title";
  link.dataset.line = line;
  link.dataset.column = column || 1;
  return link;
}

function finding(one) {
  const more = element("p", "wf-quiet", tag(one.severity, one.severity), " ", element("code", "", one.code));
  if (one.hint) more.append(` · ${upper(one.hint)}`);
  const title = element("p", "", element("b", "", upper(one.message)));
  return element("li", `wf-finding wf-${one.severity}`, title, more, place(one.line, one.column));
}

export function showFindings(list, counts, findings) {
  const nothing = element("li", "wf-pad wf-quiet", "No findings.");
  list.replaceChildren(element("ul", "wf-findings", ...(findings.length ? findings.map(finding) : [nothing])));
  const errors = findings.filter((one) => one.severity === "error").length;
  counted(counts, [["error", errors, "error"], ["warning", findings.length - errors, "warning"]]);
  return errors;
}

function result(one) {
  const [tone, word] = one.passed ? ["success", "passed"] : ["error", "failed"];
  const title = element("p", "", element("b", "", one.name));
  const more = element("p", "wf-quiet", tag(tone, word), " ", quoted(one.words));
  return element("li", `wf-finding wf-${one.passed ? "passed" : "error"}`, title, more, place(one.line));
}

export function showTests(list, counts, tests) {
  const nothing = element("li", "wf-pad wf-quiet", "No tests yet. Try the draft and keep a run as a test: it is then run for every later version.");
  list.replaceChildren(...(tests.length ? tests.map(result) : [nothing]));
  const passed = tests.filter((one) => one.passed).length;
  counted(counts, [["success", passed, "passed"], ["error", tests.length - passed, "failed"]]);
  return tests.length - passed;
}

export function missing({ errors, red }) {
  const parts = [[errors, "error"], [red, "test"]].filter(([number]) => number);
  const words = parts.map(([number, name]) => `${number} ${name}${number > 1 ? "s" : ""}`);
  return words.length ? `Fix ${words.join(" and ")} before you activate.` : "Ready to activate.";
}

function counted(place_, numbers) {
  const shown = numbers.filter(([, number]) => number);
  const word = (number, name) => `${number} ${name}${/^(error|warning)$/.test(name) && number > 1 ? "s" : ""}`;
  place_.replaceChildren(...shown.map(([tone, number, name]) => tag(tone, word(number, name))));
}
