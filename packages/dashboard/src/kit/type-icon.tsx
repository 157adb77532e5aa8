/** The mark of a field's type, the same in the grid, the schema and the diagram. */
import type { FieldType } from "@socle/protocol";
import {
  Icon123,
  IconAlignLeft,
  IconBraces,
  IconCalendar,
  IconDecimal,
  IconFile,
  IconKey,
  IconLetterCase,
  IconLink,
  IconToggleLeft,
} from "@tabler/icons-react";

const icons = {
  string: IconLetterCase,
  text: IconAlignLeft,
  integer: Icon123,
  float: IconDecimal,
  boolean: IconToggleLeft,
  datetime: IconCalendar,
  json: IconBraces,
  relation: IconLink,
  file: IconFile,
} as const satisfies { [type in FieldType]: unknown };

export function TypeIcon({ type, isKey = false, size = 14 }: { type: FieldType; isKey?: boolean; size?: number }) {
  const Icon = isKey ? IconKey : icons[type];
  return <Icon size={size} stroke={1.6} aria-hidden style={{ flexShrink: 0 }} />;
}
