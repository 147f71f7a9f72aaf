/* Comments and files of a task without leaving its page: what is typed elsewhere and the focus stay. Comments of others come by themselves.
   Without this module the forms are plain ones. */
import { draw, pageOf } from "./fresh.js";
import { show } from "./toast.js";

const ACTS = "[data-act=comment], [data-act=add_file], [data-act=remove_file]";
const place = document.querySelector("[data-said]");

function complain(form, page) {
  const alert = form.querySelector("[data-refusals]");
  const notices = page ? [...page.querySelectorAll("[data-notice]")] : [];
  if (!notices.length) alert.textContent = alert.dataset.failed;
  else alert.replaceChildren(...notices);
}

/* Signed out, or a server that cannot: the page that says so is shown. */
function sendPlainly(form, button) {
  form.dataset.plain = "1";
  form.requestSubmit(button);
}

/* The button of a removed file is gone with it. */
function refocus(form, button) {
  if (button.isConnected) button.focus();
  else form.querySelector("[data-act=remove_file], [data-drop-zone] input")?.focus();
}

function empty(form, act) {
  const field = form.querySelector(act === "comment" ? "[data-comment]" : "[data-drop-send] input[type=file]");
  if (!field || act === "remove_file") return;
  field.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

async function send(form, button) {
  const focused = document.activeElement;
  const body = new FormData(form, button);
  const options = { method: "POST", body, headers: { "X-Requested-With": "said" } };
  const page = await pageOf(button.getAttribute("formaction") || form.action, options);
  delete form.dataset.sending;
  form.querySelector("[data-refusals]").replaceChildren();
  if (!page?.isOk) {
    if (page?.isGone) sendPlainly(form, button);
    else complain(form, page);
    return;
  }
  if (focused === button) button.blur();
  draw(page);
  show(page);
  empty(form, button.dataset.act);
  if (focused === button) refocus(form, button);
}

/* Before the other modules: for them nothing is sent, so that drafts are still saved and buttons stay as they are. */
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  const form = event.target;
  if (!place || !button?.matches(ACTS) || !form.querySelector("[data-refusals]") || form.dataset.plain) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (form.dataset.sending) return;
  form.dataset.sending = "1";
  send(form, button);
}, true);

/* A person did something with this task. */
document.addEventListener("wf:task", async () => {
  const page = place && (await pageOf(place.dataset.said));
  if (page?.isOk) draw(page, place.querySelectorAll("[data-fresh]"));
});
