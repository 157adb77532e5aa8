/** The field type datetime: a moment, stored and answered as ISO 8601 in UTC with milliseconds, so that texts sort by time. */
import { parseDatetime } from "../../../base/kernel/index.ts";
import { type FieldType, scalar } from "../field-type.ts";

export const datetime: FieldType = {
  ...scalar,
  name: "datetime",
  column: "TEXT",
  valueType: "datetime",
  expected: 'a date such as "2026-03-01" or an RFC 3339 date-time such as "2026-03-01T09:30:00Z"',
  encode: (value) => (typeof value === "string" ? (parseDatetime(value) ?? undefined) : undefined),
  emptyLiteral: "''",
  typescript: { type: "string", note: "ISO 8601, UTC, with milliseconds" },
};
