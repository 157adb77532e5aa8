/** Queries that are read again after an event of the service, at most twice a second. */
import { useThrottledCallback } from "@mantine/hooks";
import type { QueryKey } from "@tanstack/react-query";
import { useLive } from "./live.ts";
import { queryClient } from "./queries.ts";

const pauseMs = 500;

export function useLiveRefresh(channels: readonly string[], queryKeys: readonly QueryKey[]): void {
  const refresh = useThrottledCallback(() => {
    for (const queryKey of queryKeys) void queryClient.invalidateQueries({ queryKey });
  }, pauseMs);
  useLive(channels, refresh);
}
