/* Leave out of an address what was not filled in, so that it says the filter and nothing else. */
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-tidy]")) return;
  const empty = [...event.target.elements].filter((field) => field.name && field.value === "");
  for (const field of empty) field.disabled = true;
  // A page that comes back from the cache is to be usable again.
  window.setTimeout(() => empty.forEach((field) => (field.disabled = false)));
});

document.addEventListener("htmx:configRequest", (event) => {
  if (!event.target.closest("form[data-tidy]")) return;
  const asked = event.detail.formData;
  for (const name of [...asked.keys()]) if (asked.getAll(name).every((value) => value === "")) asked.delete(name);
});
