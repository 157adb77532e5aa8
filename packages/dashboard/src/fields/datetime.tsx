/** A moment; midnight, UTC, stands for a day. */
import { IconCalendar } from "@tabler/icons-react";
import { formatDateTime, formatFieldTime } from "../kit/format.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { parseDateTime } from "../pages/records/editor/datetimes.ts";
import classes from "./cell.module.css";
import { type CellProps, type FieldKind, noValue, nullness, ordered, readTrimmed, words } from "./kind.ts";

function TimeCell({ column, value }: CellProps) {
  return (
    <time className={`cut ${classes["time"]}`} dateTime={String(value)} title={String(value)}>
      {(column.isSystem ? formatDateTime : formatFieldTime)(String(value))}
    </time>
  );
}

export const datetimeKind: FieldKind = {
  icon: IconCalendar,
  words: words("datetime"),
  width: 196,
  isInline: true,
  operators: [">=", "<=", ">", "<", "=", "!=", ...nullness],
  completions: ordered,
  values: [
    ["@now", "the time of the request"],
    ["@today", "the beginning of today, UTC"],
    ["@now - 7d", "a week ago; s, m, h, d or w"],
    noValue,
  ],
  read: (typed) => (typed === "@now" || typed === "@today" ? { type: "macro", name: typed } : readTrimmed(typed)),
  // A time with an offset is valid already; the control has converted other times.
  parse: (typed) => (parseDateTime(typed, "utc") === null ? { problem: "notADateTime" } : { value: typed }),
  firstDefault: "@now",
  isDefault: (_, typed) => typed === "@now" || !Number.isNaN(Date.parse(typed)),
  example: "2026-03-01T09:30:00Z",
  Cell: TimeCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/datetime-control.tsx")).DatetimeControl,
  ),
};
