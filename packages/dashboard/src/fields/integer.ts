/** A whole number. */
import { Icon123 } from "@tabler/icons-react";
import { parseNumber } from "../pages/records/editor/numbers.ts";
import { type FieldKind, words } from "./kind.ts";
import { numberParts } from "./number-parts.tsx";

export const integerKind: FieldKind = {
  icon: Icon123,
  words: words("integer"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "integer"),
  isDefault: (value) => Number.isSafeInteger(value),
  example: 42,
};
