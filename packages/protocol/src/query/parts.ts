/** The parts of a query as data, and the shape that the parts give to the items of answers. */
import type { Condition } from "./where.ts";

/** The selected fields: names, and for relations the selected fields of the records there. */
export type Selected = readonly (string | { readonly [relation: string]: Selected | undefined })[];

/** The parts of a query. A text of the filter language is a condition, too. */
export interface QueryParts {
  readonly conditions: readonly (Condition | string)[];
  readonly sort?: readonly string[];
  readonly fields?: Selected;
  readonly expand?: readonly string[];
  readonly group?: readonly string[];
  readonly aggregate?: readonly string[];
  readonly search?: string | undefined;
  readonly snippet?: readonly string[];
  readonly limit?: number;
  readonly cursor?: string | null;
  readonly offset?: number;
  readonly count?: "exact";
  readonly zone?: string | undefined;
}

/** An item of a page. */
export interface Item {
  readonly [field: string]: unknown;
}

/** The paths of the selected fields, as `fields` of a request lists the paths. */
export function namesOf(fields: Selected, path = ""): string[] {
  return fields.flatMap((field) =>
    typeof field === "string"
      ? [path + field]
      : Object.entries(field).flatMap(([relation, inner]) => namesOf(inner ?? [], `${path}${relation}.`)),
  );
}

/** Turns the items of answers into the items of a query, where expanded records stand in the place of their ids. */
export function shaperOf({ fields, expand }: QueryParts): (item: Item) => Item {
  const hasRecords = expand !== undefined || fields?.some((field) => typeof field !== "string");
  return hasRecords ? withRecords : (item) => item;
}

function withRecords({ expand, ...item }: Item): Item {
  const records = Object.entries(expand ?? {}).map(([name, value]) => [name, inPlace(value)] as const);
  return { ...item, ...Object.fromEntries(records) };
}

function inPlace(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inPlace);
  return value === null ? null : withRecords(value as Item);
}
