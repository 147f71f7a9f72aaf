/* Show what the answer so far asks for. The conditions are the author's own schemas; a word of theirs that is not known here
   shows the field, and the server decides. Without this module everything is shown, with its condition in words. */
const UNKNOWN = Symbol("unknown");

/* Numbers are typed as the page's language writes them; the server reads them in the same way. */
const DECIMAL = (1.5).toLocaleString(document.documentElement.lang || "en").charAt(1);
const read = (text) => Number(text.replace(DECIMAL === "," ? /[.\s'’]/g : /[,\s'’]/g, "").replace(DECIMAL, "."));
const READ = { number: read, integer: read };

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const all = (results) => (results.includes(UNKNOWN) ? UNKNOWN : !results.includes(false));
const not = (result) => (result === UNKNOWN ? UNKNOWN : !result);

const TESTS = {
  const: (wanted, value) => same(wanted, value) || (typeof value === "string" && text(wanted) === value),
  enum: (wanted, value) => wanted.some((one) => TESTS.const(one, value)),
  minimum: (limit, value) => typeof value !== "number" || value >= limit,
  exclusiveMinimum: (limit, value) => typeof value !== "number" || value > limit,
  maximum: (limit, value) => typeof value !== "number" || value <= limit,
  exclusiveMaximum: (limit, value) => typeof value !== "number" || value < limit,
  minLength: (limit, value) => typeof value !== "string" || [...value].length >= limit,
  maxLength: (limit, value) => typeof value !== "string" || [...value].length <= limit,
  minItems: (limit, value) => !Array.isArray(value) || value.length >= limit,
  contains: (schema, value) => !Array.isArray(value) || value.some((item) => satisfies(schema, item) === true),
  type: () => true,
  title: () => true,
  description: () => true,
  not: (schema, value) => not(satisfies(schema, value)),
  allOf: (schemas, value) => all(schemas.map((schema) => satisfies(schema, value))),
  anyOf: (schemas, value) => not(all(schemas.map((schema) => not(satisfies(schema, value))))),
  required: (keys, value) => keys.every((key) => value[key] !== undefined),
  properties: (schemas, value) =>
    all(Object.entries(schemas).map(([key, schema]) => value[key] === undefined || satisfies(schema, value[key]))),
};

function satisfies(schema, value) {
  if (typeof schema === "boolean") return schema;
  const words = Object.entries(schema).filter(([word]) => !word.startsWith("x-"));
  return all(words.map(([word, wanted]) => TESTS[word]?.(wanted, value) ?? UNKNOWN));
}

function valueOf(fields) {
  const [first] = fields;
  const files = fields.filter((field) => field.closest("[data-kept-file]") && !field.disabled);
  if (files.length) return files.map((field) => field.value);
  if (first.dataset.kind === "boolean") return first.checked;
  if (first.type === "checkbox") {
    const ticked = fields.filter((field) => field.checked).map((field) => field.value);
    return ticked.length ? ticked : undefined;
  }
  const typed = first.value.trim();
  return typed === "" ? undefined : (READ[first.dataset.kind] ?? String)(typed);
}

/* Read the record whose fields begin with a name: its own values, not those of records inside it. */
function record(form, within) {
  const named = new Map();
  for (const field of form.elements) {
    const key = field.name.startsWith(`${within}.`) ? field.name.slice(within.length + 1) : "";
    if (!key || (field.type === "hidden" && !field.closest("[data-kept-file]")) || field.closest("[data-off]")) continue;
    named.set(key, [...(named.get(key) ?? []), field]);
  }
  return Object.fromEntries([...named].map(([key, fields]) => [key, valueOf(fields)]));
}

function settle(form) {
  for (const place of form.querySelectorAll("[data-when]")) {
    const asked = JSON.parse(place.dataset.when).every(({ within, tests }) => {
      const values = record(form, within);
      return tests.every(({ test, holds }) => [holds, UNKNOWN].includes(satisfies(test, values)));
    });
    place.toggleAttribute("data-off", !asked);
  }
}

for (const form of document.querySelectorAll("form")) {
  if (!form.querySelector("[data-when], [data-lines]")) continue;
  settle(form);
  form.addEventListener("input", () => settle(form));
}
