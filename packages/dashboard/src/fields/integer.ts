/** A whole number. */
import { Icon123 } from "@tabler/icons-react";
import { type FieldKind, words } from "./kind.ts";
import { numberParts } from "./number-parts.ts";

export const integerKind: FieldKind = {
  icon: Icon123,
  words: words("integer"),
  ...numberParts,
  isDefault: (value) => Number.isSafeInteger(value),
  example: 1,
};
