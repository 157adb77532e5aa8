/** The figures of the service in one row. */
import { Paper, Text } from "@mantine/core";
import type { Overview } from "@socle/protocol";
import { formatBytes, formatCompact, formatDuration } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { figuresOf } from "./figures.ts";
import classes from "./overview.module.css";

interface Stat {
  label: string;
  value: string;
  hint: string;
  isBad?: boolean;
}

function statsOf(overview: Overview): Stat[] {
  const { requests, errors, latest } = figuresOf(overview.requests);
  const share = requests === 0 ? 0 : errors / requests;
  const percent = share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 2 });
  return [
    { label: text.overview.requests, value: formatCompact(requests), hint: text.overview.requestsHint },
    {
      label: text.overview.errors,
      value: formatCompact(errors),
      hint: errors === 0 ? text.overview.noErrors : text.overview.errorsHint(percent),
      isBad: errors > 0,
    },
    {
      label: text.overview.latency,
      value: latest === null ? "–" : formatDuration(latest.p99 ?? 0),
      hint: latest === null ? text.overview.noLatency : text.overview.latencyHint(formatDuration(latest.p50 ?? 0)),
    },
    { label: text.overview.sockets, value: formatCompact(overview.sockets), hint: text.overview.socketsHint },
    { label: text.overview.users, value: formatCompact(overview.users), hint: text.overview.usersHint },
    { label: text.overview.memory, value: formatBytes(overview.residentMemory), hint: text.overview.memoryHint },
  ];
}

export function Stats({ overview }: { overview: Overview }) {
  return (
    <Paper component="section" radius="lg" className={classes["stats"]} aria-label={text.overview.now}>
      {statsOf(overview).map(({ label, value, hint, isBad = false }) => (
        <div key={label} className={classes["stat"]}>
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          <Text className={`numbers ${classes["figure"]}`} c={isBad ? "var(--mantine-color-error)" : "inherit"}>
            {value}
          </Text>
          <Text size="xs" c="dimmed" className="numbers">
            {hint}
          </Text>
        </div>
      ))}
    </Paper>
  );
}
