/** Whether the realtime socket is open, for the mark that says that a page is not live. */
import { Store, useStore } from "./store.ts";

/** True before the first connection. */
const isOpen = new Store(true);

/** The browser's WebSocket, which also reports its opening and closing. */
export class ObservedSocket extends WebSocket {
  constructor(url: string) {
    super(url);
    isOpen.set(false);
    this.addEventListener("open", () => isOpen.set(true));
    this.addEventListener("close", () => isOpen.set(false));
  }
}

/** False from a break until the socket is open again; true before the first connection. */
export function useIsLive(): boolean {
  return useStore(isOpen);
}
