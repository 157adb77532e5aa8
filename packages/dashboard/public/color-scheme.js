// The colour scheme is set before the first paint, so that a dark page does not flash white. It is a file of its own
// because the content security policy allows no inline script.
(() => {
  let scheme = null;
  try {
    scheme = localStorage.getItem("socle.color-scheme");
  } catch {
    // The browser keeps nothing for this page: the system's scheme applies.
  }
  const isDark = scheme === "dark" || (scheme !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");
})();
