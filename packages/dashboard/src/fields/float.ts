/** A number with decimals. */
import { IconDecimal } from "@tabler/icons-react";
import { type FieldKind, words } from "./kind.ts";
import { numberParts } from "./number-parts.ts";

export const floatKind: FieldKind = {
  icon: IconDecimal,
  words: words("float"),
  ...numberParts,
  isDefault: (value) => typeof value === "number" && Number.isFinite(value),
  example: 1.5,
};
