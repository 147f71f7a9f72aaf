// Keep what is typed in this browser until it is saved: a closed window, a lost session or a crash loses nothing.

import { sending } from "./sent.js";

export class Keeper {
  constructor(form, field, notice) {
    this.field = field;
    this.notice = notice;
    this.begun_from = field.value;
    this.name = `wf-draft:${form.dataset.person}:${form.dataset.version || "new"}`;
  }

  // Give back what was typed here and never saved, and say so.
  kept() {
    const found = this.read(this.name);
    if (!found || found.text === this.begun_from) return null;
    const stale = found.from !== this.begun_from;
    this.say(stale
      ? `What you typed at ${found.at} was not saved, and the draft was saved since. This is your text.`
      : `What you typed at ${found.at} was not saved. It was restored.`, "Use the saved text");
    return found.text;
  }

  keep(text) {
    if (text === this.begun_from) return this.forget();
    const at = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    localStorage.setItem(this.name, JSON.stringify({ text, at, from: this.begun_from }));
    const saved = document.querySelector("[data-saved]");
    if (saved) saved.textContent = `Not saved yet; kept in this browser since ${at}`;
  }

  sending() { sending(this.name); }

  forget() { localStorage.removeItem(this.name); }

  tell(newer) { if (newer) this.say(`${newer} If you save, you see both texts; nothing is overwritten.`); }

  say(words, back) {
    this.notice.hidden = false;
    this.notice.textContent = `${words} `;
    if (!back) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "wf-repair";
    button.textContent = back;
    button.addEventListener("click", () => { this.forget(); location.reload(); });
    this.notice.append(button);
  }

  read(name) {
    try {
      return JSON.parse(localStorage.getItem(name));
    } catch {
      return null;
    }
  }
}
