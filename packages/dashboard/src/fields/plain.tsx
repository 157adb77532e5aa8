/** The field types whose value stands in the record itself: texts, numbers, true or false, moments, JSON. */
import {
  IconAlignLeft,
  IconBraces,
  IconCalendar,
  IconCheck,
  IconDecimal,
  IconLetterCase,
  IconNumber123,
  IconToggleLeft,
  IconX,
} from "../icons/index.ts";
import { formatDateTime, formatFieldTime } from "../kit/format.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { addressLink } from "../pages/records/data/addresses.ts";
import { shownJson, shownText } from "../pages/records/data/rows.ts";
import { parseDateTime } from "../pages/records/editor/datetimes.ts";
import { parseNumber } from "../pages/records/editor/numbers.ts";
import { text } from "../texts/index.ts";
import classes from "./cell.module.css";
import {
  type CellProps,
  callerEmail,
  callerId,
  type FieldKind,
  noValue,
  nullness,
  operandWith,
  ordered,
  readTrimmed,
  words,
} from "./kind.ts";

/** The colours of the values of an enum; the value itself stands in the chip. */
const hues = 8;

/** A chip for a value of an enum; the text, or the pieces around the matches of a search; a link for an address. */
function TextCell({ row, column, value }: CellProps) {
  if (value === "") return <span className={classes["null"]}>{text.records.emptyText}</span>;
  const place = column.field.values?.indexOf(String(value)) ?? -1;
  if (place >= 0)
    return (
      <span className={classes["chip"]} data-hue={place % hues}>
        <span className="cut">{shownText(String(value), column.size)}</span>
      </span>
    );
  const found = row.found?.get(column.name);
  const link = addressLink(column.field, String(value));
  const Text = link === null ? "span" : "a";
  // The grid is a single stop of the Tab key: Ctrl-Enter in the cell follows the link.
  const linked = link === null ? {} : { ...link, tabIndex: -1, "data-follow": true };
  return (
    <Text className={`cut ${classes[link === null ? "text" : "link"]}`} {...linked}>
      {found === undefined
        ? shownText(String(value), column.size)
        : found.map((piece, i) =>
            piece.isMatch ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place.
              <mark key={i} className={classes["match"]}>
                {shownText(piece.text)}
              </mark>
            ) : (
              shownText(piece.text)
            ),
          )}
    </Text>
  );
}

const textParts = {
  isText: true,
  operators: ["~", "!~", "=", "!=", "in", ...nullness],
  completions: ["=", "!=", "~", "!~", "in", ">", ">=", "<", "<="],
  values: [noValue, callerId, callerEmail],
  read: operandWith,
  firstDefault: "",
  isDefault: () => true,
  Cell: TextCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/string-control.tsx")).StringControl),
} satisfies Partial<FieldKind>;

export const stringKind: FieldKind = {
  icon: IconLetterCase,
  words: words("string"),
  width: 232,
  isInline: true,
  ...textParts,
};

export const textKind: FieldKind = {
  icon: IconAlignLeft,
  words: words("text"),
  width: 260,
  ...textParts,
};

/** Digits without separators: a grid is for comparing, and an id must not get commas. */
function NumberCell({ value }: CellProps) {
  return <span className={`cut numbers ${classes["number"]}`}>{Object.is(value, -0) ? "-0" : String(value)}</span>;
}

const numberParts = {
  width: 110,
  isInline: true,
  isNumber: true,
  operators: [...ordered, ...nullness],
  completions: ordered,
  values: [noValue],
  read: (typed) => (typed.trim() === "" || !Number.isFinite(Number(typed)) ? null : operandWith(Number(typed))),
  firstDefault: "0",
  Cell: NumberCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/number-control.tsx")).NumberControl),
} satisfies Partial<FieldKind>;

export const integerKind: FieldKind = {
  icon: IconNumber123,
  words: words("integer"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "integer"),
  isDefault: (value) => Number.isSafeInteger(value),
  example: 42,
};

export const floatKind: FieldKind = {
  icon: IconDecimal,
  words: words("float"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "float"),
  isDefault: (value) => typeof value === "number" && Number.isFinite(value),
  example: 4.5,
};

function BooleanCell({ value }: CellProps) {
  return (
    <span className={classes["boolean"]} data-is-true={value === true || undefined}>
      {value === true ? <IconCheck size={15} stroke={2.2} aria-hidden /> : <IconX size={14} aria-hidden />}
      <span>{String(value)}</span>
    </span>
  );
}

export const booleanKind: FieldKind = {
  icon: IconToggleLeft,
  words: words("boolean"),
  width: 104,
  isInline: true,
  choices: ["true", "false"],
  operators: ["=", "!=", ...nullness],
  completions: ["=", "!=", "in"],
  values: [["true", ""], ["false", ""], noValue],
  read: (typed) => (typed === "true" || typed === "false" ? operandWith(typed === "true") : null),
  firstDefault: "false",
  isDefault: (value) => typeof value === "boolean",
  example: true,
  Cell: BooleanCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/boolean-control.tsx")).BooleanControl,
  ),
};

function TimeCell({ column, value }: CellProps) {
  return (
    <time className="cut numbers" dateTime={String(value)} title={String(value)}>
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

function JsonCell({ row, column, value }: CellProps) {
  return <span className={`cut ${classes["json"]}`}>{shownJson(value, row.cut.has(column.name))}</span>;
}

export const jsonKind: FieldKind = {
  icon: IconBraces,
  words: words("json"),
  width: 220,
  operators: ["~", "!~", ...nullness],
  completions: ["=", "!=", ">", ">=", "<", "<=", "~", "!~", "in"],
  values: [noValue, callerId, callerEmail],
  read: operandWith,
  firstDefault: "{}",
  isDefault: (value, typed) => typed.trim() !== "null" && (typeof value !== "string" || typed.trim().startsWith('"')),
  example: { key: "value" },
  Cell: JsonCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/json-control.tsx")).JsonControl),
};
