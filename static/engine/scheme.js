// Follow the machine when it turns light or dark while a page is open: Unfold asks it only once, when the page is opened.

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  const frame = window.Alpine.$data(document.documentElement);
  if (frame.adminTheme !== "auto") return;
  // Another value and back: what hangs on it is worked out again, and nothing else is remembered.
  frame.adminTheme = "light";
  frame.adminTheme = "auto";
});
