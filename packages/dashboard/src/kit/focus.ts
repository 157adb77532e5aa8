/** The focus: a lost focus goes to the heading of the page, so that Tab goes on from the heading; a late dialog takes the focus. */
import { type RefObject, useEffect, useRef } from "react";
import { modalOnTop } from "./layers.ts";

const longestWaitMs = 3_000;
/** The time between two looks at the focus: longer than the 10 ms after which a closed menu or dialog gives the focus back. */
const lookMs = 20;

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
  let wasLost = false;
  const look = (): void => {
    if (performance.now() - begin > longestWaitMs) return;
    // A dialog that is closing still has the focus, and may give the focus back by itself.
    const isCovered = modalOnTop() !== undefined;
    const isKept = given !== null && document.activeElement === given;
    const isLost = !isCovered && isFocusLost();
    if (!isCovered && !isKept && !isLost) return;
    const heading = document.querySelector<HTMLElement>("#main h1[tabindex]");
    // A focus that is lost at a single look may be on its way back to the button of a menu that was closed.
    if (isLost && wasLost && heading !== null) {
      heading.focus({ preventScroll: true });
      given = heading;
    }
    wasLost = isLost;
    setTimeout(look, lookMs);
  };
  setTimeout(look, lookMs);
}

/** Focuses the element of the ref once, after the first render: for a dialog whose content appears later than the dialog. */
export function useFirstFocus<T extends HTMLElement>(): RefObject<T | null> {
  const target = useRef<T>(null);
  useEffect(() => {
    // The dialog first looks for its own first element; the timer runs after that.
    const timer = setTimeout(() => target.current?.focus(), 50);
    return () => clearTimeout(timer);
  }, []);
  return target;
}
