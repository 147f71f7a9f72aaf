/* What a form offers to correct: the one number that was meant, and a section that was begun by mistake. Without this module the buttons
   send the form, and it comes back changed. */
const tell = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));
const fieldsOf = (section) => [...section.querySelectorAll("input:not([type=hidden]), select, textarea")];
const isFilled = (field) => (field.type === "checkbox" || field.type === "radio" ? field.checked : field.value.trim() !== "");

function use(button) {
  const field = document.getElementById(button.dataset.for);
  field.value = button.dataset.use;
  field.removeAttribute("aria-invalid");
  button.closest("[data-error]").remove();
  tell(field);
  field.focus();
}

function empty(field) {
  if (field.type === "checkbox" || field.type === "radio") field.checked = false;
  else field.value = "";
}

function clear(button) {
  const section = button.closest("[data-optional-section]");
  const fields = fieldsOf(section);
  for (const field of fields) {
    empty(field);
    field.removeAttribute("aria-invalid");
  }
  for (const error of section.querySelectorAll("[data-error]")) error.remove();
  tell(fields[0] ?? button);
  fields[0]?.focus();
}

document.addEventListener("click", (event) => {
  const using = event.target.closest("[data-use]");
  const clearing = event.target.closest("[data-clear]");
  if (!using && !clearing) return;
  event.preventDefault();
  if (using) use(using);
  else clear(clearing);
});

/* The button is there while there is something to clear. */
document.addEventListener("input", (event) => {
  const section = event.target.closest?.("[data-optional-section]");
  const button = section?.querySelector(":scope > [data-clear]");
  if (button) button.hidden = !fieldsOf(section).some(isFilled);
});
