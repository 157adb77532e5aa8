/** The client of the service, with a session that lives as long as the tab, and the state of the socket. */
import { SocleClient } from "@socle/client";
import { useSyncExternalStore } from "react";
import { tabSession } from "./tabs.ts";

export const client = new SocleClient({
  // Unit tests of parts that only import the client have no page.
  baseUrl: globalThis.location?.origin ?? "",
  session: tabSession,
  worker: false,
  // Somebody looks at the page and can press the button again, with the values still there.
  retries: 2,
});

/** False from a break until the socket is open again; true before the first connection. */
export function useIsLive(): boolean {
  const { connection } = client;
  const state = useSyncExternalStore(
    (changed) => connection.subscribe(changed),
    () => connection.get(),
  );
  return state === "idle" || state === "open";
}
