/** A question: a request for stored data, with the answer of the model for a caller; above all, the question of a list. */
import type { Model, ModelCaller, ModelRecord } from "./model.ts";

/** The body of an answer, or the possible statuses of a refusal. */
type Expected = { readonly body: unknown } | { readonly statuses: ReadonlySet<number> };

export interface Question {
  readonly path: string;
  /** Whether the list can be requested in pages. */
  readonly isPaged: boolean;
  /** Whether the answer has no ETag for a conditional request. */
  readonly isFleeting: boolean;
  /** Whether the model does not know the order of a caller's list. */
  isUnordered(caller: ModelCaller): boolean;
  answerTo(caller: ModelCaller): Expected;
}

export type List = (caller: ModelCaller) => ModelRecord[];

interface Asked {
  readonly search: string;
  readonly list: List;
  /** The statuses of a possible refusal. */
  readonly refusals?: (caller: ModelCaller) => ReadonlySet<number>;
  readonly total?: boolean;
  readonly shown?: (caller: ModelCaller, record: ModelRecord) => object;
}

export function listQuestion(model: Model, name: string, asked: Asked): Question {
  const { search, list, refusals, total = false } = asked;
  const shown = asked.shown ?? ((caller: ModelCaller, record: ModelRecord) => model.shown(caller, name, record));
  return {
    path: `/api/${name}${search}`,
    isPaged: search !== "" && !search.includes("limit="),
    isFleeting: false,
    isUnordered: () => false,
    answerTo: (caller) => {
      const closed = model.closedStatus(caller, name);
      if (closed !== null) return { statuses: new Set([closed]) };
      const statuses = refusals?.(caller) ?? new Set();
      if (statuses.size > 0) return { statuses };
      const items = list(caller).map((record) => shown(caller, record));
      return { body: { items, ...(search !== "" && { hasMore: false }), ...(total && { total: items.length }) } };
    },
  };
}
