/** The focus of a dialog whose content comes later than the dialog itself. */
import { type RefObject, useEffect, useRef } from "react";

/** Focuses the element of the ref once, when it is there. */
export function useFirstFocus<T extends HTMLElement>(): RefObject<T | null> {
  const target = useRef<T>(null);
  useEffect(() => {
    // After the dialog has looked for a first element of its own.
    const timer = setTimeout(() => target.current?.focus(), 50);
    return () => clearTimeout(timer);
  }, []);
  return target;
}
