/** The icon of a field's type. */
import type { FieldType } from "@socle/protocol";
import {
  IconAbc,
  IconAlignLeft,
  IconArrowUpRight,
  IconBraces,
  IconCalendar,
  IconDecimal,
  IconNumber123,
  IconPaperclip,
  IconToggleLeft,
} from "@tabler/icons-react";

const icons = {
  string: IconAbc,
  text: IconAlignLeft,
  integer: IconNumber123,
  float: IconDecimal,
  boolean: IconToggleLeft,
  datetime: IconCalendar,
  json: IconBraces,
  relation: IconArrowUpRight,
  file: IconPaperclip,
} satisfies { [type in FieldType]: unknown };

export function TypeIcon({ type, size = 16 }: { type: FieldType; size?: number }) {
  const Icon = icons[type];
  return <Icon size={size} stroke={1.6} aria-hidden />;
}
