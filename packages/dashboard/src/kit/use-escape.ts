/** Escape for a drawer: closes the drawer alone, and only while nothing lies on top. */
import { useEffect, useRef } from "react";

/** Marks the content of a drawer, for `useEscape`. */
export const drawerMark = { "data-drawer": true };

/** Calls back for an Escape that is meant for the open drawer: a dialog on top, or an open list inside, handles its own Escape. */
export function useEscape(isOpen: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape);
  latest.current = onEscape;
  useEffect(() => {
    if (!isOpen) return undefined;
    const listen = ({ key, isComposing, target }: KeyboardEvent): void => {
      if (key !== "Escape" || isComposing || !(target instanceof Element)) return;
      const top = [...document.querySelectorAll('[role="dialog"][aria-modal="true"]')].at(-1);
      const isInside = target === document.body || top?.contains(target) === true;
      if (top?.closest("[data-drawer]") === null || !isInside) return;
      if (target.getAttribute("data-mantine-stop-propagation") !== "true") latest.current();
    };
    // The capture phase comes first, before the same key closes the dialog on top.
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, [isOpen]);
}
