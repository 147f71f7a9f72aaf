/* Let a toast go after six seconds, unless it is looked at. Without this module it stays until the next page. */
const LIFE = 6000;

function letGo(toast) {
  let timer = window.setTimeout(() => toast.remove(), LIFE);
  const hold = () => window.clearTimeout(timer);
  const resume = () => {
    hold();
    timer = window.setTimeout(() => toast.remove(), LIFE);
  };
  toast.addEventListener("mouseenter", hold);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("mouseleave", resume);
  toast.addEventListener("focusout", resume);
}

for (const toast of document.querySelectorAll("[data-toast]")) {
  const close = toast.querySelector("[data-toast-close]");
  close.hidden = false;
  close.addEventListener("click", () => toast.remove());
  letGo(toast);
}
