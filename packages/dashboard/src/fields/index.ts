/** The field types of the dashboard: icon, width, operators, cell, control, words. */
import type { FieldType } from "@socle/protocol";
import { geoKind } from "./geo.tsx";
import type { FieldKind } from "./kind.ts";
import { booleanKind, datetimeKind, floatKind, integerKind, jsonKind, stringKind, textKind } from "./plain.tsx";
import { fileKind, relationKind } from "./pointing.tsx";
import { vectorKind } from "./vector.tsx";

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
  geo: geoKind,
  vector: vectorKind,
};
