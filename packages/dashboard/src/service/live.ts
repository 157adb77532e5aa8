/** Events of the service as they happen, for pages that show what functions, jobs and others do. */
import type { Event } from "@socle/protocol";
import { useEffect, useRef } from "react";
import { client } from "./client.ts";

/**
 * Calls `listener` with each event of the channels while the component is there.
 * @param channels whole names: the service has no wildcard for other channels than those of records.
 */
export function useLive(channels: readonly string[], listener: (event: Event) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  const key = channels.join(" ");
  useEffect(() => {
    const stops = key.split(" ").map((channel) => client.subscribe(channel, (event) => latest.current(event)));
    return () => {
      for (const stop of stops) stop();
    };
  }, [key]);
}
