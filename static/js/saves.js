/* Save a form of settings as soon as something in it changes. Without this module its button saves. */
import { show } from "./toast.js";

for (const form of document.querySelectorAll("[data-saves]")) {
  form.querySelector("[data-saves-button]").hidden = true;
  form.addEventListener("change", async () => {
    const answer = await fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { "X-Requested-With": "settings" },
    }).catch(() => null);
    if (!answer || answer.redirected || answer.status >= 500) return;
    if (answer.ok) show(await answer.text());
    else form.submit();
  });
}
