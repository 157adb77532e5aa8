/** A single line of text. */
import { IconLetterCase } from "@tabler/icons-react";
import { type FieldKind, words } from "./kind.ts";
import { textParts } from "./text-parts.tsx";

export const stringKind: FieldKind = {
  icon: IconLetterCase,
  words: words("string"),
  width: 232,
  isInline: true,
  ...textParts,
};
