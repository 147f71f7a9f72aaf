// Alpine's CSP build reads the expressions in attributes itself, so that the admin's policy needs no `unsafe-eval`. It knows no
// globals: what Unfold's pages name is given to it here, and of `window` and `localStorage` only what they ask for.

document.addEventListener("alpine:init", () => {
  const names = {
    window: {
      location: {
        get pathname() {
          return window.location.pathname;
        },
        get search() {
          return window.location.search;
        },
      },
    },
    localStorage: { getItem: (key) => window.localStorage.getItem(key) },
    openPage(firstTab) {
      this.activeTab = firstTab && (window.getCurrentTab() || firstTab);
      this.$watch("sidebarDesktopOpen", (open) => window.localStorage.setItem("sidebarDesktopOpen", open ? "1" : "0"));
    },
  };
  const { Alpine, theme, searchForm, searchDropdown, searchCommand } = window;
  Alpine.data("theme", (chosen) => ({ ...theme(chosen), ...names }));
  Alpine.data("searchForm", searchForm);
  Alpine.data("searchDropdown", searchDropdown);
  Alpine.data("searchCommand", searchCommand);
});
