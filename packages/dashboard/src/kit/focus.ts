/** Where the focus goes when what had it is gone: to the heading of the page, from where Tab goes on. */

const longestWaitMs = 3_000;

/** Whether nothing on the page has the focus. */
function isFocusLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || activeElement.id === "main";
}

/**
 * Brings a lost focus to the page's heading, as soon as there is one, and to the next one where a page that has loaded its
 * data draws another. A focus that is somewhere else stays there.
 */
export function focusPage(): void {
  const begin = performance.now();
  let given: HTMLElement | null = null;
  const look = (): void => {
    if (performance.now() - begin > longestWaitMs) return;
    // A dialog that is still on its way out has the focus, and may give it back by itself.
    const isCovered = document.querySelector('[role="dialog"][aria-modal="true"]') !== null;
    const isKept = given !== null && document.activeElement === given;
    if (!isCovered && !isKept && !isFocusLost()) return;
    const heading = document.querySelector<HTMLElement>("#main h1[tabindex]");
    if (!isCovered && !isKept && heading !== null) {
      heading.focus({ preventScroll: true });
      given = heading;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
