// Complete what is typed: keys and words from the language's schema, names from the tenant and from the text itself.

const KEY = /^(\s*(?:- +)*)([\w.-]+)\s*:(?:\s|$)/;
const TYPED = /[\w.-]*$/;
const NAMES = {
  roles: "roles", users: "users", assignee: "users", function: "functions", calendar: "calendars",
};
const STEP_KEYS = new Set(["needs", "not_same_as", "same_as", "step", "to", "next", "exit", "cancel", "compensate"]);

export function completionFrom(words) {
  return async (context) => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    if (/(^|\s)#/.test(before)) return null;
    const known = await words;
    const found = inExpression(before, context, known) ?? inPlace(before, context, line, known);
    if (!found || !found.options.length || (!context.explicit && !found.wanted)) return null;
    return { from: found.from, options: found.options, validFor: /^[\w.-]*$/ };
  };
}

const option = (label, type, more = {}) => ({ label, type, ...more });
const unique = (list) => [...new Set(list)];

export function stepIds(text) {
  return unique([...text.matchAll(/^\s*(?:- +)*id:\s*["']?([a-z][a-z0-9_]*)/gm), ...text.matchAll(/[{,]\s*id:\s*([a-z][a-z0-9_]*)/g)]
    .map((match) => match[1]));
}

function inputNames(text) {
  const block = /^input:\n((?:[ \t]+.*\n?)*)/m.exec(text)?.[1] ?? "";
  const inside = /^(\s+)properties:\n((?:\1[ \t]+.*\n?)*)/m.exec(block)?.[2] ?? "";
  const indent = /^\s+/.exec(inside)?.[0].length;
  return unique(inside.split("\n").filter((line) => /^\s*/.exec(line)[0].length === indent)
    .map((line) => /^\s+([\w-]+):/.exec(line)?.[1]).filter(Boolean));
}

function stateNames(text) {
  return unique([...text.matchAll(/\bset:\s*\{\s*([\w]+)\s*:/g)].map((match) => match[1]));
}

// Inside ${…} or after a condition's key: result.<step>, start.<field>, secret.<name>.
function inExpression(before, context, known) {
  const inside = /\$\{[^}]*$/.test(before) || /\b(if|when|while|until|match|complete_when|enabled_while):\s*\S*.*$/.test(before);
  const path = inside && /(result|status|start|state|secret)\.([\w]*)$/.exec(before);
  if (!path) return null;
  const text = context.state.doc.toString();
  const names = {
    result: () => stepIds(text), status: () => stepIds(text), start: () => inputNames(text), state: () => stateNames(text),
    secret: () => known.secrets ?? [],
  }[path[1]]();
  return { from: context.pos - path[2].length, options: names.map((name) => option(name, "variable")), wanted: true };
}

// Walk from the cursor's line upwards: which keys hold this place, by indentation and by open braces in the line itself.
function wayTo(doc, number, before) {
  const way = [];
  let indent = /^\s*(?:- +)*/.exec(before)[0].length;
  if (/^\s*-\s*$/.test(before)) indent = before.length;
  for (let above = number - 1; above > 0 && indent > 0; above -= 1) {
    const text = doc.line(above).text;
    if (!text.trim() || text.trim().startsWith("#")) continue;
    const key = KEY.exec(text);
    const start = /^\s*/.exec(text)[0].length;
    if (key && key[1].length < indent) {
      way.unshift(key[2]);
      indent = key[1].length === start ? start : key[1].length;
    } else if (start < indent && /^\s*- /.test(text)) indent = start + 1;
    if (key && start === 0 && key[1].length === 0) break;
  }
  return [...way, ...inLine(before)];
}

function inLine(before) {
  const keys = [];
  let rest = before.replace(/^\s*(?:- +)*/, "");
  const stack = [];
  let pending = "";
  for (const part of rest.matchAll(/"[^"]*"?|'[^']*'?|[{}[\],]|[^{}[\],"']+/g)) {
    const text = part[0];
    if (text === "{" || text === "[") { stack.push(pending); pending = ""; }
    else if (text === "}" || text === "]") { stack.pop(); pending = ""; }
    else if (text === ",") pending = "";
    else { const key = /([\w.-]+)\s*:\s*/.exec(text); if (key) pending = key[1]; }
  }
  for (const name of stack) if (name) keys.push(name);
  if (pending) keys.push(pending);
  return keys;
}

function schemasAt(root, way) {
  let here = [root];
  for (const key of way) {
    here = here.flatMap((schema) => variants(root, schema)).flatMap((schema) => {
      if (schema.properties?.[key]) return [schema.properties[key]];
      return typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
    });
  }
  return here.flatMap((schema) => variants(root, schema));
}

// A schema with everything allowed in its place: alternatives, what it refers to, the entries of a list.
function variants(root, schema, depth = 0) {
  if (depth > 5 || !schema) return [];
  const referred = schema.$ref ? root.$defs[schema.$ref.split("/").pop()] : null;
  const others = [referred, schema.items, ...(schema.anyOf ?? [])].filter(Boolean);
  return [schema, ...others.flatMap((other) => variants(root, other, depth + 1))];
}

function inPlace(before, context, line, known) {
  if (!known.schema) return null;
  const typed = TYPED.exec(before)[0];
  const from = context.pos - typed.length;
  const start = before.slice(0, before.length - typed.length);
  const way = wayTo(context.state.doc, line.number, start);
  const isValue = /:\s+(?:\[[^\]]*)?$/.test(start) || /[[,]\s*$/.test(start) && !/\{[^}]*$/.test(start);
  if (isValue || (way.at(-1) && /^\s*-\s+$/.test(start) && (NAMES[way.at(-1)] || STEP_KEYS.has(way.at(-1))))) {
    return { from, options: valuesAt(way, known, context), wanted: true };
  }
  const schemas = schemasAt(known.schema, way);
  const keys = unique(schemas.flatMap((schema) => Object.keys(schema.properties ?? {}))).filter((key) => !["path", "auto_id", "schema", "requires"].includes(key));
  const inFlow = /[{,]\s*$/.test(start);
  const options = keys.map((key) => option(key, "property", { apply: `${key}: `, boost: key === "id" ? 2 : 0 }));
  return { from, options, wanted: typed.length > 0 || inFlow };
}

function valuesAt(way, known, context) {
  const key = way.at(-1);
  if (key === "name" && ["workflow", "continue_with"].includes(way.at(-2))) return known.workflows.map((name) => option(name, "class"));
  if (NAMES[key]) return (known[NAMES[key]] ?? []).map((name) => option(name, "constant"));
  if (STEP_KEYS.has(key)) return stepIds(context.state.doc.toString()).map((name) => option(name, "variable"));
  const schemas = schemasAt(known.schema, way);
  const words = schemas.flatMap((schema) => schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : []));
  return unique(words).map((word) => option(String(word), "keyword"));
}
