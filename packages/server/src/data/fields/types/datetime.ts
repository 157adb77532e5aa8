/** The field type datetime: a moment, stored and answered as ISO 8601 in UTC with milliseconds, so that texts sort by time. */
import { parseDatetime } from "../../../base/kernel/index.ts";
import type { FieldType } from "../field-type.ts";

export const datetime: FieldType = {
  name: "datetime",
  column: "TEXT",
  valueType: "datetime",
  expected: 'a date such as "2026-03-01" or an RFC 3339 date-time such as "2026-03-01T09:30:00Z"',
  encode: (value) => (typeof value === "string" ? (parseDatetime(value) ?? undefined) : undefined),
  rules: { bounds: null, regex: false, unique: true },
  emptyLiteral: "''",
  isIndexable: true,
  reference: null,
  mayBeLong: () => false,
  typescript: { type: "string", note: "ISO 8601, UTC, with milliseconds" },
};
