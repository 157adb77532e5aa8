/** The first focus in a dialog whose content appears later than the dialog. */
import { type RefObject, useEffect, useRef } from "react";

/** Focuses the element of the ref once, after the first render. */
export function useFirstFocus<T extends HTMLElement>(): RefObject<T | null> {
  const target = useRef<T>(null);
  useEffect(() => {
    // The dialog first looks for its own first element; the timer runs after that.
    const timer = setTimeout(() => target.current?.focus(), 50);
    return () => clearTimeout(timer);
  }, []);
  return target;
}
