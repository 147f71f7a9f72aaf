/* Complete names behind an @ in comments, and in fields that hold one name. Without this module one types the name. */
const TYPED = /(?:^|[^\w@./+-])@([\w.@+-]{0,100})$/;
const SOON = 120;

function enhance(field) {
  const list = document.createElement("ul");
  list.className = "wf-mentions";
  list.id = `${field.id}-people`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", field.dataset.people);
  list.hidden = true;
  field.after(list);
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", list.id);
  let timer = 0;
  let asked = 0;
  let taken = false;

  const whole = field.hasAttribute("data-pick");
  if (whole) field.setAttribute("role", "combobox");
  const typed = () => (whole ? field.value.trim() : TYPED.exec(field.value.slice(0, field.selectionStart))?.[1]);
  const options = () => [...list.children];
  const current = () => list.querySelector("[aria-selected='true']");

  function show(shown) {
    list.hidden = !shown;
    if (whole) field.setAttribute("aria-expanded", String(shown));
  }

  function close() {
    show(false);
    field.removeAttribute("aria-activedescendant");
  }

  function choose(option) {
    for (const one of options()) one.setAttribute("aria-selected", String(one === option));
    field.setAttribute("aria-activedescendant", option.id);
  }

  function take(option) {
    const at = field.selectionStart;
    if (whole) field.value = option.textContent;
    else field.setRangeText(`${option.dataset.name} `, at - typed().length, at, "end");
    close();
    field.focus();
    taken = whole; // what was taken is not looked up again
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function draw(people) {
    list.replaceChildren(
      ...people.map(({ name, title }, place) => {
        const option = document.createElement("li");
        option.id = `${list.id}-${place}`;
        option.setAttribute("role", "option");
        option.dataset.name = name;
        option.textContent = `${title} (@${name})`;
        option.addEventListener("mousedown", (event) => {
          event.preventDefault();
          take(option);
        });
        return option;
      }),
    );
    show(people.length > 0);
    if (people.length) choose(list.firstChild);
  }

  async function look() {
    const begun = typed();
    if (begun === undefined) return close();
    const mine = ++asked;
    const asks = new URL(field.dataset.mention, window.location.href);
    asks.searchParams.set("typed", begun);
    const answer = await fetch(asks).catch(() => null);
    if (!answer?.ok || answer.redirected || mine !== asked || typed() !== begun) return;
    draw((await answer.json()).people);
  }

  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    if (taken) return (taken = false);
    timer = window.setTimeout(look, SOON);
  });
  if (whole) show(false);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const all = options();
    const place = all.indexOf(current());
    if (event.key === "ArrowDown") choose(all[(place + 1) % all.length]);
    else if (event.key === "ArrowUp") choose(all[(place - 1 + all.length) % all.length]);
    else if (event.key === "Enter" || event.key === "Tab") take(current());
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

for (const field of document.querySelectorAll("[data-mention]")) enhance(field);
