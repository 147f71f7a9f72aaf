/* Add rows to a list and take them away without asking the server. The buttons send the form where this module is missing. */
const KEY = /__\d+__/g;

const lines = (box) => box.querySelector(":scope > [data-lines-list]");
const addButton = (box) => box.querySelector(":scope > [data-lines-add]");

/* Give a copied row a key of its own: only the placeholder of this very list, those of lists inside it stay. */
function keyed(html, key) {
  const own = html.match(KEY)?.[0];
  return own ? html.replaceAll(own, key) : html;
}

function freshKey(list) {
  const taken = [...list.children].map((line) => Number(line.querySelector("input[type=hidden]").value));
  return String(Math.max(-1, ...taken) + 1);
}

function settle(box) {
  const all = [...lines(box).children];
  all.forEach((line, place) => {
    line.querySelector("[data-line-number]").textContent = place + 1;
  });
  addButton(box).hidden = all.length >= Number(box.dataset.most);
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

function add(box) {
  const list = lines(box);
  const holder = document.createElement("template");
  holder.innerHTML = keyed(box.querySelector(":scope > [data-lines-blank]").innerHTML, freshKey(list));
  list.append(holder.content);
  settle(box);
  list.lastElementChild.querySelector("input:not([type=hidden]), select, textarea")?.focus();
}

function remove(line) {
  const box = line.closest("[data-lines]");
  const neighbour = line.nextElementSibling ?? line.previousElementSibling;
  line.remove();
  settle(box);
  (neighbour?.querySelector("[data-line-remove]") ?? addButton(box)).focus();
}

document.addEventListener("click", (event) => {
  const adding = event.target.closest("[data-lines-add]");
  const removing = event.target.closest("[data-line-remove]");
  if (!adding && !removing) return;
  event.preventDefault();
  if (adding) add(adding.closest("[data-lines]"));
  else remove(removing.closest("[data-line]"));
});
