/** A number with decimals. */
import { IconDecimal } from "@tabler/icons-react";
import { parseNumber } from "../pages/records/editor/numbers.ts";
import { type FieldKind, words } from "./kind.ts";
import { numberParts } from "./number-parts.tsx";

export const floatKind: FieldKind = {
  icon: IconDecimal,
  words: words("float"),
  ...numberParts,
  parse: (typed) => parseNumber(typed, "float"),
  isDefault: (value) => typeof value === "number" && Number.isFinite(value),
  example: 4.5,
};
