/** The user's arrangement of the columns of a grid: order, width, hidden columns. The browser keeps the arrangement per collection. */

export interface ColumnState {
  readonly order: readonly string[];
  readonly hidden: readonly string[];
  readonly widths: { readonly [column: string]: number };
}

export const emptyColumnState: ColumnState = { order: [], hidden: [], widths: {} };

const narrowest = 64;
const widest = 800;

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

/** Reads the stored state of the columns. Malformed parts are ignored. */
export function readColumnState(stored: string | undefined): ColumnState {
  let value: unknown;
  try {
    value = JSON.parse(stored ?? "null");
  } catch {
    return emptyColumnState;
  }
  if (typeof value !== "object" || value === null) return emptyColumnState;
  const { order, hidden, widths } = value as { [key: string]: unknown };
  const entries = typeof widths === "object" && widths !== null ? Object.entries(widths) : [];
  return {
    order: texts(order),
    hidden: texts(hidden),
    widths: Object.fromEntries(
      entries.flatMap(([name, width]) => (typeof width === "number" ? [[name, clampWidth(width)]] : [])),
    ),
  };
}

export function clampWidth(width: number): number {
  return Number.isFinite(width) ? Math.round(Math.min(widest, Math.max(narrowest, width))) : narrowest;
}

/**
 * The order of the existing columns: arranged columns in their arranged order, a new column after its neighbour
 * in the definition.
 */
export function orderColumns(state: ColumnState, columns: readonly string[]): string[] {
  const order = [...new Set(state.order)].filter((name) => columns.includes(name));
  for (const [i, name] of columns.entries()) {
    if (order.includes(name)) continue;
    const before = columns[i - 1];
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, name);
  }
  return order;
}

/** The columns to show, in their order. Never empty: when all columns are hidden, the first column stays. */
export function visibleColumns(state: ColumnState, columns: readonly string[]): string[] {
  const order = orderColumns(state, columns);
  const visible = order.filter((name) => !state.hidden.includes(name));
  return visible.length === 0 ? order.slice(0, 1) : visible;
}

export function moveColumn(order: readonly string[], name: string, over: string): string[] {
  const to = order.indexOf(over);
  if (to < 0 || !order.includes(name)) return [...order];
  const next = order.filter((each) => each !== name);
  next.splice(to, 0, name);
  return next;
}
