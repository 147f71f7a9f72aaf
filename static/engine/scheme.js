// Follow the system when it switches between light and dark: Unfold checks only when the page is opened.

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  const frame = window.Alpine.$data(document.documentElement);
  if (frame.adminTheme !== "auto") return;
  // Another value and back: what hangs on it is worked out again, and nothing else is remembered.
  frame.adminTheme = "light";
  frame.adminTheme = "auto";
});
