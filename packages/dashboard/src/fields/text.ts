/** Text of any length. */
import { IconAlignLeft } from "@tabler/icons-react";
import { type FieldKind, words } from "./kind.ts";
import { textParts } from "./text-parts.tsx";

export const textKind: FieldKind = {
  icon: IconAlignLeft,
  words: words("text"),
  width: 260,
  ...textParts,
};
