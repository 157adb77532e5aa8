/** Gives a lost focus to the heading of the page, so that Tab goes on from the heading. */

const longestWaitMs = 3_000;

/** Whether nothing on the page has the focus. */
function isFocusLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body || activeElement.id === "main";
}

/**
 * Brings a lost focus to the page's heading, as soon as the heading exists. A page that draws another heading once its data is
 * loaded gets the focus on the new heading again. A focus on another element stays.
 */
export function focusPage(): void {
  const begin = performance.now();
  let given: HTMLElement | null = null;
  const look = (): void => {
    if (performance.now() - begin > longestWaitMs) return;
    // A dialog that is closing still has the focus, and may give the focus back by itself.
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
