/**
 * Trials: operations as another caller, with the parts of the rule that allow or refuse the operation. A trial changes
 * nothing: the transaction is taken back.
 */
import type { Operation, RulePart, StoredRecord, TriedRule } from "@socle/protocol";
import { AppError, isAdmin, type JsonText, type Principal, type SignedIn } from "../../base/kernel/index.ts";
import type { Database, Reader, Transactor } from "../../store/database/index.ts";
import type { Collection, Collections } from "../collections/index.ts";
import type { ExpressionPart } from "../expressions/index.ts";
import type { RecordChanges } from "./changes.ts";
import { recordTableOf } from "./record-table.ts";
import type { Body } from "./references.ts";
import type { RecordState, Rights } from "./rights.ts";

interface TriedTarget {
  readonly collection: Collection;
  readonly principal: Principal;
  readonly id: string;
}

/** The change that a caller would make; `id` is null for a new record. */
interface TriedChange extends Pick<TriedTarget, "collection" | "principal"> {
  readonly id: string | null;
  readonly body: Body;
}

/** The outcome of a change: the answer or the refusal, and the rules that were looked at. */
interface TriedAnswer {
  readonly json: JsonText | null;
  readonly error: AppError | null;
  readonly rules: readonly TriedRule[];
}

interface Asked extends Pick<TriedRule, "moment"> {
  readonly operations: readonly Operation[];
}

/** Takes the transaction of a trial back. */
const takenBack = new Error("The transaction of a trial is taken back");

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

  /** The outcomes of the rules of operations on a stored record; empty without the record. */
  rules(target: TriedTarget, operations: readonly Operation[]): TriedRule[] {
    return this.#rules(this.#database.reader, target, { operations, moment: "before" });
  }

  /**
   * Makes a change for a caller, by an admin, and takes the change back. @throws AppError `forbidden` for a caller without
   * the role admin.
   */
  async change(admin: SignedIn, change: TriedChange): Promise<TriedAnswer> {
    let answer: TriedAnswer | null = null;
    const attempt = (tx: Transactor, caller: Principal): never => {
      if (!isAdmin(caller)) throw new AppError("forbidden", "This is for admins only.");
      answer = this.#change(tx, change);
      throw takenBack;
    };
    await this.#database.transactFor(admin, attempt, { whileReadOnly: true }).catch((thrown: unknown) => {
      if (thrown !== takenBack) throw thrown;
    });
    if (answer === null) throw new Error("A trial has ended before its end");
    return answer;
  }

  #change(tx: Transactor, { collection, principal, id, body }: TriedChange): TriedAnswer {
    const operation = id === null ? "create" : "update";
    const operations = [operation, "read"] as const;
    const rules = id === null ? [] : this.#rules(tx, { collection, principal, id }, { operations, moment: "before" });
    const observe = (state: RecordState): void => {
      rules.push(...this.#told(tx, state, { operations, moment: "after" }));
    };
    let [json, error]: [JsonText | null, AppError | null] = [null, null];
    try {
      // Hooks are not asked: a hook may have effects outside.
      const change = { collection: collection.name, body, hooks: null, observe };
      const saved =
        id === null
          ? this.#changes.create(tx, principal, change)
          : this.#changes.update(tx, principal, { ...change, id, ifMatch: null });
      json = saved.json;
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      error = thrown;
    }
    return { json, error, rules };
  }

  #rules(reader: Reader, { collection, principal, id }: TriedTarget, asked: Asked): TriedRule[] {
    const table = recordTableOf(collection);
    const row = reader.get<StoredRecord>(table.byIdWithOwner, id);
    return row === null ? [] : this.#told(reader, { table, principal, ...table.toOwned(row) }, asked);
  }

  #told(reader: Reader, state: RecordState, { operations, moment }: Asked): TriedRule[] {
    const { collection } = state.table;
    return operations.map((operation) => {
      const { rule } = collection.policies[operation];
      const tree = this.#collections.partsOfRule(collection, operation);
      const holds = this.#rights.allowsState(reader, operation, state);
      const all = tree === null ? [] : [...flat(tree)];
      const conditions = all.map(({ condition }) => condition);
      const found = this.#rights.stateOutcomes(reader, conditions, state);
      const outcomeOf = new Map(all.map((part, i) => [part, found[i] ?? null]));
      return { operation, moment, rule, holds, parts: tree && told(tree, outcomeOf) };
    });
  }
}

function* flat(part: ExpressionPart): Iterable<ExpressionPart> {
  yield part;
  for (const each of part.parts) yield* flat(each);
}

function told(part: ExpressionPart, outcomes: ReadonlyMap<ExpressionPart, boolean | null>): RulePart {
  const { kind, start, end, parts } = part;
  return { kind, start, end, holds: outcomes.get(part) ?? null, parts: parts.map((each) => told(each, outcomes)) };
}
