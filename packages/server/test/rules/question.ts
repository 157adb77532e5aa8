/** A question: a request for what is stored, with the answer that the model says a caller gets; above all one of a list. */
import type { Model, ModelCaller, ModelRecord } from "./model.ts";

/** The body of an answer, or the statuses of which a refusal has one. */
type Expected = { readonly body: unknown } | { readonly statuses: ReadonlySet<number> };

export interface Question {
  readonly path: string;
  /** Whether its list can be asked for in pages. */
  readonly isPaged: boolean;
  /** Whether it has no ETag by which nothing is asked again. */
  readonly isFleeting: boolean;
  /** Whether the model does not know the order of a caller's list. */
  isUnordered(caller: ModelCaller): boolean;
  answerTo(caller: ModelCaller): Expected;
}

export type List = (caller: ModelCaller) => ModelRecord[];

interface Asked {
  readonly search: string;
  readonly list: List;
  /** The statuses by which it may be refused. */
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
