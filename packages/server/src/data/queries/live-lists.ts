/** Live lists: the queries of live windows. A window is the first page of a list, with the id of each record. */
import { JsonText, type Principal, releasedText } from "../../base/kernel/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import { syntaxOf } from "../expressions/index.ts";
import type { PreparedList, Queries, QueryCaller } from "./queries.ts";
import { refuseParameter, refusing } from "./query-text.ts";
import type { Dependencies } from "./read-scope.ts";

/** Records in a window, at most and without the parameter `limit`. */
const maxLimit = 1_000;

/** The parameters of a list, as texts. */
export type LiveParameters = ReadonlyMap<string, string>;

/** A query for a window. */
export interface LiveList extends Dependencies {
  /** The items of the window. */
  readonly shape: "records" | "groups";
  /** The most items of the window. */
  readonly limit: number;
}

/** A window as read. */
export interface LivePage {
  /** The JSON of the items. */
  readonly json: string;
  readonly total: number | null;
  /** Another text means another record behind the window; empty for a list that has no further page. */
  readonly nextKey: string;
  /** The cursor of the next page, which belongs to a caller. */
  readonly cursorFor: (principal: Principal) => string | null;
  /** Milliseconds that the read took. */
  readonly ms: number;
}

export class LiveLists {
  readonly #queries: Queries;
  readonly #collections: Collections;

  constructor({ queries, collections }: { queries: Queries; collections: Collections }) {
    this.#queries = queries;
    this.#collections = collections;
  }

  /** @throws AppError `bad_request`, `not_found`, `unauthorized`, `forbidden`: as a request with the parameters. */
  prepare(name: string, parameters: LiveParameters, principal: Principal): LiveList {
    const { query } = this.#list(name, parameters, principal).list;
    if (query === null) throw new Error("A live query has no parameters");
    const { plan } = query;
    return { ...query.dependencies(), shape: plan.type, limit: plan.limit };
  }

  /** Reads a window by the definitions of this moment. @throws AppError as `prepare`, and as `Queries.page`. */
  async read(name: string, parameters: LiveParameters, caller: QueryCaller): Promise<LivePage> {
    const { collection, list } = this.#list(name, parameters, caller.principal);
    const { query, outcome, ms } = await this.#queries.parts(collection, list, caller);
    const { items, next, total } = outcome;
    const cursorFor = (principal: Principal): string | null =>
      next === null ? null : this.#queries.cursorAfter(query, next, principal);
    const nextKey = next === null ? "" : JSON.stringify(next);
    const text = JsonText.from("", items);
    const json = text.text;
    text.free();
    releasedText(json);
    return { json, total, nextKey, cursorFor, ms };
  }

  #list(
    name: string,
    parameters: LiveParameters,
    principal: Principal,
  ): { collection: Collection; list: PreparedList } {
    const collection = this.#collections.listed(name);
    collection.policies.read.admit(principal);
    const all = new Map([["limit", String(maxLimit)], ...parameters]);
    const fields = all.get("fields") ?? "";
    // Changes of the window name records by the id.
    if (fields !== "" && !fields.split(",").some((each) => each.trim() === "id")) all.set("fields", `id,${fields}`);
    // Each change of a record of the collection asks the filter, and each window keeps the text.
    const filter = all.get("filter") ?? "";
    if (filter !== "") refusing("filter", () => syntaxOf(filter));
    const list = this.#queries.prepare(collection, principal, String(new URLSearchParams([...all])));
    // Each change of the collection would compare all vectors again, for each window.
    if (list.query?.sort.keys.some(({ operand }) => operand.type === "nearest") === true)
      throw refuseParameter("sort", "nearest(…) sorts no live query; ask for the list again when it may have changed");
    return { collection, list };
  }
}
