/* Copy what was typed to the clipboard. Without this module the button stays hidden. */
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
    button.lastChild.textContent = button.dataset.copied;
  });
}
