/** The field types of the dashboard, a file each: icon, width, operators, cell, control, words. */
import type { FieldType } from "@socle/protocol";
import { booleanKind } from "./boolean.tsx";
import { datetimeKind } from "./datetime.tsx";
import { fileKind } from "./file.ts";
import { floatKind } from "./float.ts";
import { integerKind } from "./integer.ts";
import { jsonKind } from "./json.tsx";
import type { FieldKind } from "./kind.ts";
import { relationKind } from "./relation.ts";
import { stringKind } from "./string.ts";
import { textKind } from "./text.ts";

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
