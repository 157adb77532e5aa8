/**
 * Admin API of trials: an operation as a user or without a user, the answer that this caller would get, and the rules
 * that decide; and the effects of a definition that is not saved. Nothing is changed.
 */
import { OPERATIONS, type RuleEffects, type RuleTrial, type User } from "@socle/protocol";
import {
  AppError,
  isObject,
  type JsonText,
  oneOf,
  type Principal,
  quote,
  type SignedIn,
} from "../../base/kernel/index.ts";
import type { Collection, Collections } from "../../data/collections/index.ts";
import type { Queries } from "../../data/queries/index.ts";
import { EffectTrial, type Records } from "../../data/records/index.ts";
import type { Users } from "../../people/auth/index.ts";
import type { Database, Waiter } from "../../store/database/index.ts";
import { type AdminChanges, refuseOthers } from "./admin-changes.ts";
import { changeOf, type SchemaAdmin } from "./schema-admin.ts";

/** Records of a page of a list: by default, and at most. */
const defaultLimit = 20;
const maxLimit = 100;
/** Users of a sample: by default, and at most. */
const defaultSample = 20;
const maxSample = 100;
/** How long the statements of a trial of a definition may take. */
const effectsMs = 3_000;

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

interface RuleTrialsOptions {
  changes: AdminChanges;
  users: Users;
  records: Records;
  queries: Queries;
  schema: SchemaAdmin;
  collections: Collections;
  database: Database;
}

export class RuleTrials {
  readonly #options: RuleTrialsOptions;

  constructor(options: RuleTrialsOptions) {
    this.#options = options;
  }

  /** @throws AppError `not_found` for the collection, `bad_request` for a malformed trial or a missing user. */
  async try(name: string, given: Record<string, unknown>, waiter: Asking["waiter"]): Promise<TrialOutcome> {
    const collection = this.#options.records.collection(name);
    const asked = readTrial(given);
    const { operation, as } = asked;
    const user = as === null ? null : this.#user(as);
    return { as: user, operation, ...(await this.#outcome(collection, principalOf(user), { ...asked, waiter })) };
  }

  /**
   * The list or the record that a user, or a caller without a token, would get. The audit names the user, once for each list and each
   * record: further pages are parts of the list.
   * @throws AppError as `try`.
   */
  async look(name: string, given: Record<string, unknown>, waiter: Asking["waiter"]): Promise<TrialOutcome> {
    refuseOthers(given, ["as", "id", "query"]);
    const { id = null, query = {} } = given;
    const asked = { ...given, operation: "read" };
    const { as, search } = readTrial(asked);
    const outcome = await this.try(name, asked, waiter);
    // An empty cursor is the first page, and a record has no pages.
    const isFurtherPage = id === null && (new URLSearchParams(search).get("cursor") ?? "") !== "";
    if (isFurtherPage) return outcome;
    await this.#options.changes.transact(
      waiter.principal,
      (_tx, audit) =>
        audit({ action: "user.viewed", target: as ?? "anonymous", after: { collection: name, id, query } }),
      { whileReadOnly: true },
    );
    return outcome;
  }

  /**
   * The records that users gain and lose by a definition that is not saved.
   * @throws AppError as the change would, `bad_request` for a malformed trial, `conflict` if the schema changes meanwhile.
   */
  async effects(name: string, given: Record<string, unknown>, waiter: Asking["waiter"]): Promise<RuleEffects> {
    const { users, records, schema, collections, database } = this.#options;
    const { definition, as, operation, sample } = readEffects(given);
    const { build } = changeOf(name, definition);
    await schema.plan({ name, build }, waiter);
    const user = as === null ? null : this.#user(as);
    const sampled = users.sample(sample);
    const others = [null, ...sampled.filter(({ id }) => id !== user?.id)];
    const callers = (user === null ? others : [user, ...others]).map((each) => {
      return {
        as: each,
        isSample: each !== null && sampled.some(({ id }) => id === each.id),
        principal: principalOf(each),
      };
    });
    const { epoch } = collections;
    const current = collections.definitions();
    const plans = collections.plan(build(current));
    const trial = new EffectTrial(name, { plans, current, users: collections.users, operation });
    const principals = callers.map(({ principal }) => principal);
    const effects = (): RuleEffects | null => trial.effects(callers, records.count(records.collection(name)));
    await database
      .query((reader) => trial.judge(reader, principals, effectsMs), waiter)
      .catch((thrown: unknown) => {
        const isSlow = thrown instanceof AppError && thrown.limit === "queries";
        if (collections.epoch === epoch && !(isSlow && effects() !== null)) throw thrown;
      });
    const found = collections.epoch === epoch ? effects() : null;
    if (found === null) throw new AppError("conflict", "The schema has changed meanwhile; try again.");
    return found;
  }

  /** @throws AppError `bad_request` for a missing user. */
  #user(id: string): User {
    const user = this.#options.users.find(id);
    if (user === null) throw new AppError("bad_request", `"as": there is no user ${quote(id)}.`);
    return user;
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

function principalOf(user: User | null): Principal {
  return user && { userId: user.id, role: user.role };
}

/** @throws AppError `bad_request`. */
function readEffects(given: Record<string, unknown>) {
  refuseOthers(given, ["definition", "sample", "as", "operation"]);
  const { definition, sample = defaultSample, as = null } = given;
  if (!isObject(definition)) throw new AppError("bad_request", '"definition" must be a JSON object.');
  if (typeof sample !== "number" || !Number.isInteger(sample) || sample < 0 || sample > maxSample)
    throw new AppError("bad_request", `"sample" must be a whole number from 0 to ${maxSample}, not ${quote(sample)}.`);
  const operation = given["operation"] === undefined ? null : readOperation(given);
  return { definition, sample, as: readCaller(as), operation };
}

/** @throws AppError `bad_request`. */
function readOperation(given: Record<string, unknown>): RuleTrial["operation"] {
  const operation = OPERATIONS.find((each) => each === given["operation"]);
  if (operation === undefined) throw new AppError("bad_request", `"operation" must be ${oneOf(OPERATIONS)}.`);
  return operation;
}

/** @throws AppError `bad_request`. */
function readCaller(as: unknown): string | null {
  if (as === null || typeof as === "string") return as;
  throw new AppError("bad_request", '"as" must be the id of a user, or null.');
}

/** @throws AppError `bad_request`. */
function readTrial(given: Record<string, unknown>): AskedTrial {
  refuseOthers(given, ["as", "operation", "id", "body", "query"]);
  const { as, id = null, body = {}, query = {} } = given;
  const operation = readOperation(given);
  if (id !== null && typeof id !== "string") throw new AppError("bad_request", '"id" must be the id of a record.');
  if (operation === "create" && id !== null) throw new AppError("bad_request", 'To create a record, "id" is left out.');
  if ((operation === "update" || operation === "delete") && id === null)
    throw new AppError("bad_request", `"id" is missing: ${operation} needs the id of a record.`);
  if (!isObject(body)) throw new AppError("bad_request", '"body" must be a JSON object.');
  return { as: readCaller(as), operation, id, body, search: searchOf(query, id === null) };
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
