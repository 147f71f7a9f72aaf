/* Keep what is typed: 800 ms after the last key, when a field is left, and when the page is. Without this module the
   form's own button does it. */
const PAUSE = 800;
const AGAIN = 5000;
const form = document.querySelector("form[data-draft]");

if (form) {
  const words = form.querySelector("[data-draft-words]");
  let timer = 0;
  let changed = false;
  let saving = new AbortController();
  let running = Promise.resolve();
  let waits = false;

  const say = (text, state) => {
    words.textContent = text;
    words.dataset.state = state;
  };

  const body = () => {
    const sent = [...new FormData(form)].filter(([, value]) => typeof value === "string");
    return new URLSearchParams(sent);
  };

  const later = (wait) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(save, wait);
  };

  /* One after the other: of two on their way at once the older could arrive last, and what it lacks would be lost. */
  function save() {
    window.clearTimeout(timer);
    if (waits) return;
    waits = true;
    running = running.then(() => {
      waits = false;
      return send();
    });
  }

  async function send(leaving = false) {
    window.clearTimeout(timer);
    if (!changed || form.dataset.sent) return;
    changed = false;
    if (!leaving) say(form.dataset.draftSaving, "saving");
    const { signal } = saving;
    try {
      const headers = { "X-Requested-With": "draft" };
      const answer = await fetch(form.dataset.draft, { method: "POST", body: body(), headers, signal, keepalive: true });
      if (answer.ok && !answer.redirected) say((await answer.json()).words, "saved");
      else if (answer.status >= 500) failed();
      else say(answer.status === 401 ? form.dataset.draftOut : form.dataset.draftLost, "lost");
    } catch {
      if (!signal.aborted) failed();
    }
  }

  function failed() {
    changed = true;
    say(form.dataset.draftFailed, "lost");
    later(AGAIN);
  }

  form.addEventListener("input", (event) => {
    if (event.target.type === "file") return;
    changed = true;
    later(PAUSE);
  });
  /* Going from a field to a button sends the form, which saves or answers it: a draft after that would be refused. */
  form.addEventListener("focusout", (event) => {
    if (!event.relatedTarget?.matches("button")) save();
  });
  form.addEventListener("submit", () => saving.abort());
  window.addEventListener("pageshow", () => {
    saving = new AbortController();
  });
  window.addEventListener("pagehide", () => send(true));
}
