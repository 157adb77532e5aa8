/** Where the focus goes when what had it is gone: to the heading of the page, from where Tab goes on. */

const longestWaitMs = 3_000;

/** Whether nothing on the page has the focus. */
function isFocusLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || activeElement.id === "main";
}

/** Brings a lost focus to the page's heading, as soon as there is one. A focus that is somewhere stays there. */
export function focusPage(): void {
  const begin = performance.now();
  const look = (): void => {
    if (performance.now() - begin > longestWaitMs) return;
    // A dialog that is still on its way out has the focus, and may give it back by itself.
    const isCovered = document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
    const heading = document.querySelector<HTMLElement>("#main h1");
    if (!isCovered && !isFocusLost()) return;
    if (isCovered || heading === null) requestAnimationFrame(look);
    else heading.focus({ preventScroll: true });
  };
  requestAnimationFrame(look);
}
