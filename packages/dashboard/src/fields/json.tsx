/** Any JSON value. */
import { IconBraces } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { shownJson } from "../pages/records/data/rows.ts";
import classes from "./cell.module.css";
import {
  type CellProps,
  callerEmail,
  callerId,
  type FieldKind,
  noValue,
  nullness,
  operandWith,
  words,
} from "./kind.ts";

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
