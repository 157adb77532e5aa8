/** A time of the API: how long ago, with the whole time in a tooltip. */
import { Text, type TextProps, Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { formatDateTime, formatRelative } from "./format.ts";

/** A single clock for all times on the page: the clock ticks while a component shows a time. */
const listeners = new Set<() => void>();
let now = Date.now();
let ticking: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 10_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/** The clocks of the service and of the browser may differ: a time that is ahead by less than this counts as now. */
const skewMs = 5_000;

function nowFor(at: string, current: number): number {
  const ahead = Date.parse(at) - current;
  return ahead > 0 && ahead < skewMs ? current + ahead : current;
}

export function RelativeTime({ at, ...props }: { at: string } & TextProps) {
  const current = Math.max(
    useSyncExternalStore(subscribe, () => now),
    now,
  );
  return (
    <Tooltip label={formatDateTime(at)}>
      <Text span inherit className="numbers" {...props}>
        <time dateTime={at}>{formatRelative(at, nowFor(at, Math.max(current, Date.now() - 1_000)))}</time>
      </Text>
    </Tooltip>
  );
}

/** A time that stands alone: the date and the time of day, and how long ago. */
export function WholeTime({ at }: { at: string }) {
  return (
    <>
      {formatDateTime(at)} <RelativeTime at={at} c="dimmed" size="xs" />
    </>
  );
}
