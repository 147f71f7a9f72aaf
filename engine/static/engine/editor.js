// Number the lines of a source field, mark those with findings, and go to a finding's place.

const form = document.querySelector("[data-editor]");
const field = form?.querySelector("textarea");

function severities() {
  const marks = new Map();
  for (const place of document.querySelectorAll("[data-line]")) {
    const worst = place.closest(".wf-error") ? "wf-error" : "wf-warning";
    const line = Number(place.dataset.line);
    if (marks.get(line) !== "wf-error") marks.set(line, worst);
  }
  return marks;
}

function drawNumbers(gutter, marks) {
  const count = field.value.split("\n").length;
  const numbers = Array.from({ length: count }, (_, index) => {
    const number = document.createElement("b");
    number.textContent = String(index + 1);
    number.className = marks.get(index + 1) ?? "";
    return number;
  });
  gutter.replaceChildren(...numbers);
  gutter.scrollTop = field.scrollTop;
}

function goTo(line, column) {
  const lines = field.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  field.focus();
  field.setSelectionRange(start, start);
  field.scrollTop = Math.max(0, (line - 6) * 20);
}

if (field) {
  const gutter = document.createElement("div");
  gutter.className = "wf-gutter";
  gutter.setAttribute("aria-hidden", "true");
  field.before(gutter);
  const marks = severities();
  const fit = () => { gutter.style.height = `${field.offsetHeight}px`; };
  drawNumbers(gutter, marks);
  fit();
  new ResizeObserver(fit).observe(field);
  field.addEventListener("input", () => drawNumbers(gutter, marks));
  field.addEventListener("scroll", () => { gutter.scrollTop = field.scrollTop; });
  for (const place of document.querySelectorAll("[data-line]")) {
    place.addEventListener("click", (event) => {
      event.preventDefault();
      goTo(Number(place.dataset.line), Number(place.dataset.column));
    });
  }
}
