/**
 * Trials: operations as another caller, and which part of a rule allows or refuses them. Nothing is changed: a create or an update is done in a
 * transaction that is taken back.
 */
import type { Operation, RulePart, TriedRule } from "@socle/protocol";
import type { Collection, Collections } from "../collections/index.ts";
import type { Database, Reader, Transactor } from "../database/index.ts";
import type { Expression, ExpressionPart } from "../expressions/index.ts";
import { AppError, type Awaitable, isAdmin, type JsonText, type Principal, type SignedIn } from "../kernel/index.ts";
import type { RecordChanges } from "./changes.ts";
import type { Body } from "./preparation.ts";
import { recordTableOf } from "./record-table.ts";
import type { RecordState, Rights } from "./rights.ts";

/** The change that somebody would make; `id` is null for a new record. */
interface TriedChange {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly id: string | null;
  readonly body: Body;
}

/** The outcome of a change: the answer or the refusal, and the rules that were looked at. */
interface TriedAnswer {
  readonly json: JsonText | null;
  readonly error: AppError | null;
  readonly rules: readonly TriedRule[];
}

/** A record, for a caller. */
interface TriedTarget {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly id: string;
}

/** A record as rules look at it: as it stands, or as it is to be. */
interface Subject {
  readonly collection: Collection;
  allows(operation: Operation): Awaitable<boolean>;
  outcomes(conditions: readonly Expression[]): Promise<(boolean | null)[]>;
}

/** Thrown at the end of a transaction, so that nothing of it stays. */
class TakenBack extends Error {
  override readonly name = "TakenBack";
}

export class Trials {
  readonly #database: Database;
  readonly #collections: Collections;
  readonly #rights: Rights;
  readonly #changes: RecordChanges;

  constructor(options: { database: Database; collections: Collections; rights: Rights; changes: RecordChanges }) {
    this.#database = options.database;
    this.#collections = options.collections;
    this.#rights = options.rights;
    this.#changes = options.changes;
  }

  /** How the rules of operations stand to a record as it is; none where there is no such record. */
  rules(target: TriedTarget, operations: readonly Operation[]): Promise<TriedRule[]> {
    return this.#rules(this.#database.reader, target, { operations, moment: "before" });
  }

  /** Makes a change for a caller, in the name of an admin, and takes it back. @throws AppError `forbidden` for who is no admin. */
  async change(admin: SignedIn, change: TriedChange): Promise<TriedAnswer> {
    let answer: TriedAnswer | null = null;
    const attempt = async (tx: Transactor, caller: Principal): Promise<never> => {
      if (!isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
      answer = await this.#change(tx, change);
      throw new TakenBack();
    };
    await this.#database.transactFor(admin, attempt).catch((thrown: unknown) => {
      if (!(thrown instanceof TakenBack)) throw thrown;
    });
    if (answer === null) throw new Error("A trial has ended before its end");
    return answer;
  }

  async #change(tx: Transactor, { collection, principal, id, body }: TriedChange): Promise<TriedAnswer> {
    const operation = id === null ? "create" : "update";
    const before =
      id === null
        ? []
        : await this.#rules(tx, { collection, principal, id }, { operations: ["update", "read"], moment: "before" });
    const after: TriedRule[] = [];
    const observe = async (state: RecordState): Promise<void> => {
      after.push(...(await this.#told(this.#byState(tx, state), { operations: [operation, "read"], moment: "after" })));
    };
    let [json, error]: [JsonText | null, AppError | null] = [null, null];
    try {
      // Hooks are not asked: they may have effects elsewhere.
      const change = { collection: collection.name, body, hooks: null, observe };
      const saved = await (id === null
        ? this.#changes.create(tx, principal, change)
        : this.#changes.update(tx, principal, { ...change, id, ifMatch: null }));
      json = saved.json;
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      error = thrown;
    }
    return { json, error, rules: [...before, ...after] };
  }

  async #rules(
    reader: Reader,
    { collection, principal, id }: TriedTarget,
    { operations, moment }: { operations: readonly Operation[]; moment: TriedRule["moment"] },
  ): Promise<TriedRule[]> {
    const table = recordTableOf(collection);
    const row = await reader.get<{ owner: string | null }>(table.owner, id);
    if (row === null) return [];
    const target = { table, principal, id, owner: row.owner };
    const subject: Subject = {
      collection,
      allows: (operation) => this.#rights.allows(reader, operation, target),
      outcomes: (conditions) => this.#rights.outcomes(reader, target, conditions),
    };
    return this.#told(subject, { operations, moment });
  }

  #byState(reader: Reader, state: RecordState): Subject {
    return {
      collection: state.table.collection,
      allows: (operation) => this.#rights.allowsState(reader, operation, state),
      outcomes: (conditions) => this.#rights.stateOutcomes(reader, conditions, state),
    };
  }

  async #told(
    { collection, allows, outcomes }: Subject,
    { operations, moment }: { operations: readonly Operation[]; moment: TriedRule["moment"] },
  ): Promise<TriedRule[]> {
    const rules: TriedRule[] = [];
    for (const operation of operations) {
      const { rule } = collection.policies[operation];
      const tree = this.#collections.partsOfRule(collection, operation);
      const holds = await allows(operation);
      const all = tree === null ? [] : [...flat(tree)];
      const found = await outcomes(all.map(({ condition }) => condition));
      const outcomeOf = new Map(all.map((part, i) => [part, found[i] ?? null]));
      rules.push({ operation, moment, rule, holds, parts: tree && told(tree, outcomeOf) });
    }
    return rules;
  }
}

/** A part and all below it. */
function* flat(part: ExpressionPart): Iterable<ExpressionPart> {
  yield part;
  for (const each of part.parts) yield* flat(each);
}

function told(part: ExpressionPart, outcomes: ReadonlyMap<ExpressionPart, boolean | null>): RulePart {
  const { kind, start, end, parts } = part;
  return { kind, start, end, holds: outcomes.get(part) ?? null, parts: parts.map((each) => told(each, outcomes)) };
}
