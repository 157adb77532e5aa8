/**
 * Admin API of trials: an operation as a user or without a user, the answer that this caller would get, and the rules
 * that decide. Nothing is changed.
 */
import { OPERATIONS, type RuleTrial } from "@socle/protocol";
import {
  AppError,
  isObject,
  type JsonText,
  oneOf,
  type Principal,
  quote,
  type SignedIn,
} from "../../base/kernel/index.ts";
import type { Collection } from "../../data/collections/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import type { Records } from "../../data/records/index.ts";
import type { Users } from "../../people/auth/index.ts";
import type { Waiter } from "../../store/database/index.ts";
import { refuseOthers } from "./admin-changes.ts";

/** Records of a page of a list: by default, and at most. */
const defaultLimit = 20;
const maxLimit = 100;

/** A trial from the body of a request. */
interface AskedTrial {
  readonly as: string | null;
  readonly operation: RuleTrial["operation"];
  readonly id: string | null;
  readonly body: Record<string, unknown>;
  /** The parameters of a list or record, as in an address. */
  readonly search: string;
}

/** A trial with its thrown error and its answer as text. */
export interface TrialOutcome extends Pick<RuleTrial, "as" | "operation" | "rules"> {
  readonly error: AppError | null;
  readonly answer: JsonText | null;
}

/** The trial with the admin that asks. */
type Asking = AskedTrial & { readonly waiter: Waiter & { principal: SignedIn } };

export class RuleTrials {
  readonly #options: { users: Users; records: Records; queries: Queries };

  constructor(options: { users: Users; records: Records; queries: Queries }) {
    this.#options = options;
  }

  /** @throws AppError `not_found` for the collection, `bad_request` for a malformed trial or a missing user. */
  async try(name: string, given: Record<string, unknown>, waiter: Asking["waiter"]): Promise<TrialOutcome> {
    const { records, users } = this.#options;
    const collection = records.collection(name);
    const asked = readTrial(given);
    const { operation, as } = asked;
    const user = as === null ? null : users.find(as);
    if (as !== null && user === null) throw new AppError("bad_request", `"as": there is no user ${quote(as)}.`);
    const principal = user && { userId: user.id, role: user.role };
    return { as: user, operation, ...(await this.#outcome(collection, principal, { ...asked, waiter })) };
  }

  async #outcome(
    collection: Collection,
    principal: Principal,
    asked: Asking,
  ): Promise<Omit<TrialOutcome, "as" | "operation">> {
    const { trials } = this.#options.records;
    const { operation, id, body, waiter } = asked;
    if (operation === "create" || operation === "update") {
      const change = { collection, principal, id: operation === "create" ? null : id, body };
      const { json, error, rules } = await trials.change(waiter.principal, change);
      return { answer: json, error, rules: [...rules] };
    }
    const operations = operation === "delete" ? (["delete", "read"] as const) : (["read"] as const);
    const rules = id === null ? [] : trials.rules({ collection, principal, id }, operations);
    try {
      return { answer: await this.#answer(collection, principal, asked), error: null, rules };
    } catch (thrown) {
      if (thrown instanceof AppError) return { answer: null, error: thrown, rules };
      throw thrown;
    }
  }

  /** The answer of a deletion, which is not made, or of a read. @throws AppError that the caller would be told. */
  async #answer(
    collection: Collection,
    principal: Principal,
    { operation, id, search, waiter }: Asking,
  ): Promise<TrialOutcome["answer"]> {
    const { records, queries } = this.#options;
    if (operation === "delete") {
      records.admit(collection.name, "delete", { principal, id: id ?? "" });
      return null;
    }
    const caller = { principal, caller: () => waiter.caller, signal: () => waiter.signal };
    if (id !== null) return (await queries.one(collection, id, { search, ...caller })).json;
    collection.policies.read.admit(principal);
    return queries.page(collection, queries.prepare(collection, principal, search), caller);
  }
}

/** @throws AppError `bad_request`. */
function readTrial(given: Record<string, unknown>): AskedTrial {
  refuseOthers(given, ["as", "operation", "id", "body", "query"]);
  const { as, id = null, body = {}, query = {} } = given;
  const operation = OPERATIONS.find((each) => each === given["operation"]);
  if (operation === undefined) throw new AppError("bad_request", `"operation" must be ${oneOf(OPERATIONS)}.`);
  if (as !== null && typeof as !== "string")
    throw new AppError("bad_request", '"as" must be the id of a user, or null.');
  if (id !== null && typeof id !== "string") throw new AppError("bad_request", '"id" must be the id of a record.');
  if (operation === "create" && id !== null) throw new AppError("bad_request", 'To create a record, "id" is left out.');
  if ((operation === "update" || operation === "delete") && id === null)
    throw new AppError("bad_request", `"id" is missing: ${operation} needs the id of a record.`);
  if (!isObject(body)) throw new AppError("bad_request", '"body" must be a JSON object.');
  return { as, operation, id, body, search: searchOf(query, id === null) };
}

/** @throws AppError `bad_request`. */
function searchOf(query: unknown, isList: boolean): string {
  const parameters = isObject(query) ? Object.entries(query) : null;
  if (parameters === null || !parameters.every(([, value]) => typeof value === "string" || typeof value === "number"))
    throw new AppError("bad_request", '"query" must be an object of texts and numbers.');
  const search = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, String(value)]));
  if (!isList) return String(search);
  if (!search.has("limit")) search.set("limit", String(defaultLimit));
  if (Number(search.get("limit")) > maxLimit)
    throw new AppError("bad_request", `"query": at most ${maxLimit} records are answered at once.`);
  return String(search);
}
