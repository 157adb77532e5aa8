/** Any text: `string`, a single line, and `text`, of any length. */
import { IconAlignLeft, IconLetterCase } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { shownText } from "../pages/records/data/rows.ts";
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
  words,
} from "./kind.ts";

/** The text, or the pieces around the matches of a search. */
function TextCell({ row, column, value }: CellProps) {
  if (value === "") return <span className={classes["null"]}>{text.records.emptyText}</span>;
  const found = row.found?.get(column.name);
  return (
    <span className={`cut ${classes["text"]}`}>
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
    </span>
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
