/** The field types of the dashboard, a file each: icon, width, operators, cell, control, words. */
import type { FieldType } from "@socle/protocol";
import { booleanKind } from "./boolean.tsx";
import { datetimeKind } from "./datetime.tsx";
import { fileKind } from "./file.tsx";
import { jsonKind } from "./json.tsx";
import type { FieldKind } from "./kind.ts";
import { floatKind, integerKind } from "./number.tsx";
import { relationKind } from "./relation.tsx";
import { stringKind, textKind } from "./text.tsx";

export type { CellProps, Operand, Operator, Parsed, ValueProblem } from "./kind.ts";
export { callerEmail, callerId, noValue, ordered } from "./kind.ts";

export const kinds: { readonly [type in FieldType]: FieldKind } = {
  string: stringKind,
  text: textKind,
  integer: integerKind,
  float: floatKind,
  boolean: booleanKind,
  datetime: datetimeKind,
  json: jsonKind,
  relation: relationKind,
  file: fileKind,
};
