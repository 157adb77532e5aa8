/**
 * A batch: many changes in one transaction, each with its permission, its rules and its event; all of the changes or no
 * change.
 *
 * Every operation sees the records as the operations before left them. After an operation with refused values, the later
 * operations are tried too, so that the answer has every problem; any other refusal ends the batch.
 */
import type { BatchResult, ErrorDetail } from "@socle/protocol";
import { AppError, JsonText, LoopTurns, newId, type Principal } from "../../base/kernel/index.ts";
import type { Transactor } from "../../store/database/index.ts";
import { invalidBatch, maxProblems, type Operation, resolve } from "./batch-operations.ts";
import { mayNameManyFiles, type RecordChanges, type SavedRecord } from "./changes.ts";
import type { HookFailure, WriteHooks } from "./write-hooks.ts";

/** The bytes of changed records, before and after, that a batch may keep in memory until the flush. */
const maxHeldBytes = 64 * 1024 ** 2;

const noBody = JsonText.from("null");

export class Batch {
  readonly #operations: readonly Operation[];
  readonly #changes: RecordChanges;
  readonly #hooks: WriteHooks | null;
  /** The JSON of each result. */
  readonly #results: string[] = [];
  /** The ids of the records of the operations. A failed operation has an id of its own, which no record has. */
  readonly ids: string[] = [];
  readonly #failed = new Set<number>();
  readonly #problems: ErrorDetail[] = [];
  #heldBytes = 0;

  constructor(options: {
    operations: readonly Operation[];
    changes: RecordChanges;
    /** Null if no operation has hooks. */
    hooks: WriteHooks | null;
  }) {
    this.#operations = options.operations;
    this.#changes = options.changes;
    this.#hooks = options.hooks;
  }

  /**
   * Runs the batch in a transaction, which must be taken back when `run` throws. To be called once.
   * @returns the JSON of an array of `BatchResult`.
   * @throws AppError of the first operation that failed, or `validation_error` with the problems of all operations; each
   * detail has the number of its operation. `payload_too_large` if the records are too many bytes.
   */
  async run(tx: Transactor, caller: Principal): Promise<JsonText> {
    const turns = new LoopTurns();
    for (const [index, operation] of this.#operations.entries()) {
      if (this.#hooks !== null) this.#hooks.part = index;
      try {
        this.#prepare(operation);
        const { method, collection, body } = operation;
        if (mayNameManyFiles(body)) {
          const id = method === "create" ? null : this.#idOf(operation);
          await this.#changes.lookAhead(tx, caller, { collection, id, body });
        }
        if (method === "create") {
          const made = this.#changes.create(tx, caller, { collection, body, hooks: this.#hooks });
          this.#done(made.record.id, 201, made);
        } else await this.#change(tx, caller, operation);
      } catch (thrown) {
        this.#fail(index, operation, thrown);
      }
      // Reads and answers go on meanwhile.
      if (turns.isDue()) await turns.next();
    }
    if (this.#failed.size > 0) throw invalidBatch(this.#problems);
    return JsonText.from(`[${this.#results.join(",")}]`);
  }

  /** The ids of earlier records stand in the body from now on. */
  #prepare({ id, references }: Operation): void {
    // The target of the operation does not exist: the failed create has told its problems.
    if (typeof id === "number" && this.#failed.has(id)) throw AppError.validation([]);
    if (references.length > 0) resolve(references, this.ids);
  }

  #fail(index: number, operation: Operation, thrown: unknown): void {
    if (!(thrown instanceof AppError) || thrown.code === "unavailable") throw thrown;
    this.#refuse(index, operation, thrown);
    this.#failed.add(index);
    this.ids.push(newId("rec", Date.now()));
  }

  /** @throws AppError the refusal that ends the batch. */
  #refuse(index: number, operation: Operation, refusal: AppError): void {
    const isOfValues = refusal.code === "validation_error";
    if (!isOfValues) {
      // The refusal may be a consequence of an operation that failed.
      if (this.#failed.size > 0) return;
      throw refusalOf(index, operation, refusal);
    }
    // A reference to a failed operation is a consequence, not a problem.
    const lost = new Set(
      operation.references.filter((each) => this.#failed.has(each.operation)).map(({ field }) => field),
    );
    for (const detail of detailsOf(operation, refusal)) {
      if (lost.has(detail.field) || this.#problems.length >= maxProblems) continue;
      this.#problems.push({ operation: index, ...detail });
    }
  }

  /** The record of an operation: a given id, or the record of an earlier operation. */
  #idOf({ id }: Operation): string {
    return typeof id === "number" ? (this.ids[id] ?? "") : id;
  }

  async #change(tx: Transactor, caller: Principal, operation: Operation): Promise<void> {
    const { method, collection, ifMatch, body } = operation;
    const id = this.#idOf(operation);
    const target = { collection, id, ifMatch, hooks: this.#hooks };
    if (method === "update") this.#done(id, 200, this.#changes.update(tx, caller, { ...target, body }));
    else this.#done(id, 204, { json: noBody, weight: await this.#changes.delete(tx, caller, target) });
  }

  #done(id: string, status: BatchResult["status"], { json, weight }: Pick<SavedRecord, "json" | "weight">): void {
    this.#heldBytes += weight;
    if (this.#heldBytes > maxHeldBytes)
      throw new AppError(
        "payload_too_large",
        `The records of the batch are larger than ${maxHeldBytes / 1024 ** 2} MiB in all; send fewer operations at a time.`,
      );
    this.ids.push(id);
    this.#results.push(`{"status":${status},"body":${json.text}}`);
  }
}

/** The error of a batch whose hooks refused operations or did not answer. */
export function hookRefusal(operations: readonly Operation[], failures: readonly HookFailure[]): unknown {
  const details: ErrorDetail[] = [];
  for (const { part, error } of failures) {
    const operation = operations[part];
    if (!(error instanceof AppError) || error.code === "unavailable" || operation === undefined) return error;
    if (error.code !== "validation_error") return refusalOf(part, operation, error);
    for (const detail of detailsOf(operation, error)) details.push({ operation: part, ...detail });
  }
  return invalidBatch(details);
}

/** A refusal with the number of its operation. */
function refusalOf(index: number, operation: Operation, refusal: AppError): AppError {
  const { code, message, isStale } = refusal;
  return new AppError(code, message, {
    details: detailsOf(operation, refusal).map((detail) => ({ operation: index, ...detail })),
    ...(isStale && { isStale }),
  });
}

function detailsOf({ method }: Operation, { details, message }: AppError): readonly ErrorDetail[] {
  return details ?? [{ field: method === "create" ? "collection" : "id", rule: "refused", message }];
}
