/** A moment; midnight, UTC, stands for a day. */
import { IconCalendar } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { TimeCell } from "../pages/records/grid/cells.tsx";
import { type FieldKind, noValue, nullness, ordered, readTrimmed, words } from "./kind.ts";

export const datetimeKind: FieldKind = {
  icon: IconCalendar,
  words: words("datetime"),
  width: 196,
  isInline: true,
  isNumber: false,
  operators: [">=", "<=", ">", "<", "=", "!=", ...nullness],
  completions: ordered,
  values: [
    ["@now", "the time of the request"],
    ["@today", "the beginning of today, UTC"],
    ["@now - 7d", "a week ago; s, m, h, d or w"],
    noValue,
  ],
  read: (typed) => (typed === "@now" || typed === "@today" ? { type: "macro", name: typed } : readTrimmed(typed)),
  firstDefault: "@now",
  isDefault: (_, typed) => typed === "@now" || !Number.isNaN(Date.parse(typed)),
  example: "2026-03-01T09:30:00Z",
  Cell: TimeCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/datetime-control.tsx")).DatetimeControl,
  ),
};
