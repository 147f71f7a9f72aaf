/* Send a form once. The server refuses the second answer anyway; this keeps the person from seeing that refusal.
   A form that answers with a file leaves its page as it is and may be sent again. */
const BUSY_AFTER = 300;

function markBusy(button) {
  button.style.minWidth = `${button.offsetWidth}px`;
  button.dataset.busy = "";
  if (button.dataset.busyWord) button.textContent = button.dataset.busyWord;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || "download" in form.dataset) return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
  const button = event.submitter;
  if (button) window.setTimeout(() => markBusy(button), BUSY_AFTER);
});

/* A page that comes back from the browser's memory may be sent again. */
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
