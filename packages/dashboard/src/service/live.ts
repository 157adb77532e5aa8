/** Live events of the service, for pages that show the work of functions, jobs and others: a call, or a new read of queries. */
import { useThrottledCallback } from "@mantine/hooks";
import type { Event } from "@socle/protocol";
import type { QueryKey } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { client } from "./client.ts";
import { queryClient } from "./queries.ts";

/**
 * Calls `listener` with each event of the channels while the component is on the page.
 * @param channels whole names: the service has wildcards only for the channels of records.
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

const pauseMs = 500;

export function useLiveRefresh(channels: readonly string[], queryKeys: readonly QueryKey[]): void {
  const refresh = useThrottledCallback(() => {
    for (const queryKey of queryKeys) void queryClient.invalidateQueries({ queryKey });
  }, pauseMs);
  useLive(channels, refresh);
}
