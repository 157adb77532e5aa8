/** Whether the realtime socket is open, for the mark that says that a page is not live. */
import { useSyncExternalStore } from "react";

let isOpen = false;
let isWanted = false;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  isOpen = next;
  for (const listener of listeners) listener();
}

/** The browser's WebSocket, which also reports its opening and closing. */
export class ObservedSocket extends WebSocket {
  constructor(url: string) {
    super(url);
    isWanted = true;
    this.addEventListener("open", () => set(true));
    this.addEventListener("close", () => set(false));
  }
}

/** False from a break until the socket is open again; true before the first connection. */
export function useIsLive(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOpen || !isWanted,
  );
}
