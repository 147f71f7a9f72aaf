/* The dialog by which a task is handed over: open it on a choice, take a suggested person, name them on the button. */
const menu = document.querySelector("[data-hand-over]");
const field = menu?.querySelector("#ask");
const word = menu?.querySelector("[data-ask-word]");
const plain = word?.textContent;

function name() {
  const first = field.value.trim().split(" ")[0];
  word.textContent = first ? word.dataset.askWord.replace("NAME", first) : plain;
}

if (field) {
  field.addEventListener("input", name);
  name();
  const picks = menu.querySelector("[data-picks]");
  picks.hidden = false;
  for (const pick of picks.querySelectorAll("[data-pick-person]")) {
    pick.addEventListener("click", () => {
      const { pickPerson, title } = pick.dataset;
      field.value = pickPerson ? `${title} (@${pickPerson})` : "";
      name();
      (pickPerson ? menu.querySelector("#ask-question") : field).focus();
    });
  }
}

for (const way of document.querySelectorAll("[data-hand-open]")) {
  way.addEventListener("click", (event) => {
    const choice = menu?.querySelector(`#choose-${way.dataset.handOpen}`);
    if (!choice) return;
    event.preventDefault();
    event.stopPropagation(); // a click outside closes menus
    choice.checked = true;
    menu.open = true;
  });
}
