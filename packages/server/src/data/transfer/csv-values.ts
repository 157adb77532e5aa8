/** Values in cells of CSV, as text that keeps the types of JSON apart. */
import type { FieldDefinition, JsonValue } from "@socle/protocol";

/** A cell that is no value of its field: the type of the field refuses the text. */
export class NoValue {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const booleans: { readonly [text: string]: boolean } = { true: true, false: false, "1": true, "0": false };

/** The value of a cell. A text that is no number or boolean stays a text, which the field refuses. */
export function valueOfCell(field: FieldDefinition, cell: string): unknown {
  if (field.multiple === true) return itemsOfCell(cell);
  switch (field.type) {
    case "integer":
    case "float":
      return number.test(cell) ? Number(cell) : cell;
    case "boolean":
      return booleans[cell.trim().toLowerCase()] ?? cell;
    case "json":
      return jsonOfCell(cell);
    default:
      return cell;
  }
}

function jsonOfCell(cell: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    return new NoValue(cell);
  }
}

/** The items of a multiple field: a JSON array, as in an export, or a single item. */
function itemsOfCell(cell: string): unknown {
  return cell.trimStart().startsWith("[") ? jsonOfCell(cell) : [cell];
}

/** The cell of a value; null for an empty value. */
export function cellOf(field: FieldDefinition | null, value: JsonValue): string | null {
  if (value === null) return null;
  if (field?.type === "json" || typeof value === "object") return JSON.stringify(value);
  return String(value);
}
