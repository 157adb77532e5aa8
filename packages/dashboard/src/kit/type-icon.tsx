/** The mark of a field's type, the same in the grid, the schema and the diagram. */
import type { FieldType } from "@socle/protocol";
import { kinds } from "../fields/index.ts";
import { IconKey } from "../icons/index.ts";

export function TypeIcon({ type, isKey = false, size = 14 }: { type: FieldType; isKey?: boolean; size?: number }) {
  const Icon = isKey ? IconKey : kinds[type].icon;
  return <Icon size={size} stroke={1.6} aria-hidden style={{ flexShrink: 0 }} />;
}
