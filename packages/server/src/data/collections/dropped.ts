/** Restores of dropped values, and the end of the values after `dropped.keep`. */
import { type CollectionDefinition, type FieldDefinition, type RestoredValues, USERS } from "@socle/protocol";
import type { Config } from "../../base/config/index.ts";
import { AppError, type Clock, type Principal, quote, toTimestamp } from "../../base/kernel/index.ts";
import type { Logger } from "../../base/logging/index.ts";
import type { Database, Migration, MigrationSite, Reader } from "../../store/database/index.ts";
import { withNewTargets } from "./collection-renames.ts";
import type { Collections } from "./collections.ts";
import {
  type DroppedRow,
  deleteValues,
  droppedRows,
  endDrop,
  endedRows,
  forgetDrop,
  keptRecords,
} from "./dropped-table.ts";
import type { SchemaChange } from "./plan-change.ts";

/** The change that brings values back, and the drops. */
interface Restore {
  readonly rows: readonly DroppedRow[];
  readonly change: SchemaChange;
}

/** The attributes that the field of the values must have, as the dropped field had. */
const fixed = ["type", "multiple", "collection", "owner", "dimensions"] as const;

/**
 * The change that restores a drop.
 * @throws AppError `not_found` for an unknown drop; `bad_request` when the field is not there as the field was.
 */
function restoreOf(reader: Reader, collections: Collections, id: string): Restore {
  const all = droppedRows(reader);
  const row = all.find(({ n }) => String(n) === id);
  if (row === undefined) throw new AppError("not_found", `There are no dropped values ${quote(id)}.`);
  if (row.field === null) return restoreOfCollection(row, all, collections);
  const { definition } = collections.named(row.collection);
  // Written from a definition.
  const old = JSON.parse(row.definition) as FieldDefinition;
  const field = definition.fields.find(({ name }) => name === row.field);
  if (field === undefined || !fixed.every((key) => (field[key] ?? false) === (old[key] ?? false)))
    throw new AppError(
      "bad_request",
      `The values were of another field. Give "${row.collection}" this field, and restore then: ${row.definition}`,
    );
  const given = { definition, renamedFrom: new Map(), restored: { field: field.name, n: row.n } };
  return { rows: [row], change: { define: [given], drop: [] } };
}

/** A collection comes back with the collections that its relations need, if these were dropped, too. */
function restoreOfCollection(row: DroppedRow, all: readonly DroppedRow[], collections: Collections): Restore {
  const rows = new Map([[row.collection, row]]);
  const define = [];
  for (const each of rows.values()) {
    // Written from a definition.
    const definition = JSON.parse(each.definition) as CollectionDefinition;
    const targets = new Set(definition.fields.flatMap(({ collection }) => collection ?? []));
    const successors = new Map<string, string>();
    for (const target of targets) {
      if (target === USERS || collections.get(target) !== undefined) continue;
      const [successor] = collections.successorsOf(target);
      const dropped = all.find(({ field, collection }) => field === null && collection === target);
      if (successor !== undefined) successors.set(target, successor);
      else if (dropped !== undefined && !rows.has(target)) rows.set(target, dropped);
    }
    define.push({
      definition: withNewTargets(definition, successors),
      renamedFrom: new Map(),
      takesOver: keptRecords(each),
    });
  }
  return { rows: [...rows.values()], change: { define, drop: [] } };
}

/** The site of the migration that restores a drop. @throws AppError as `restoreDropped`. */
export function siteOfRestore(reader: Reader, collections: Collections, id: string): Promise<MigrationSite> {
  const { change } = restoreOf(reader, collections, id);
  return collections.siteOf(change, collections.plan(change));
}

/**
 * Brings dropped values back: into the records that still exist and have no value, or a dropped collection as a whole.
 * @throws AppError `not_found`, `bad_request` when the values, or the relations of the collection, contradict the definitions.
 */
export async function restoreDropped(
  tx: Migration,
  { collections, id, principal }: { collections: Collections; id: string; principal: Principal },
): Promise<RestoredValues> {
  const { rows, change } = restoreOf(tx, collections, id);
  await collections.migrate(tx, change, principal);
  let restored = 0;
  let left = 0;
  for (const row of rows) {
    if (row.field === null) await forgetDrop(tx.slow, row);
    const after = droppedRows(tx).find(({ n }) => n === row.n)?.kept ?? 0;
    restored += row.kept - after;
    left += after;
  }
  return { restored, left };
}

/** Values that a transaction deletes: so few that a waiting write is not delayed noticeably. */
const step = 500;
const hourMs = 3_600_000;

interface RetentionOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: Pick<Config, "dropped.keep">;
}

/** Deletes dropped values after a time, in small steps. */
export class DroppedRetention {
  readonly #options: RetentionOptions;
  #running: Promise<void> = Promise.resolve();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(signal: AbortSignal): void {
    const { config, logger } = this.#options;
    const run = (): void => {
      this.#running = this.#running
        .then(() => this.sweep(signal))
        .catch((error) => {
          if (!signal.aborted) logger.error("Dropped values could not be deleted", { error });
        });
    };
    const timer = setInterval(run, Math.min(hourMs, Math.max(config["dropped.keep"], 1_000))).unref();
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    run();
  }

  /** Resolves when no values are being deleted. */
  settled(): Promise<void> {
    return this.#running;
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { database, clock, config } = this.#options;
    for (const row of endedRows(database.reader, toTimestamp(clock.now() - config["dropped.keep"]))) {
      if (!(await database.upkeep((tx) => endDrop(tx, row)))) continue;
      while (signal?.aborted !== true && (await database.upkeep((tx) => deleteValues(tx, row, step))) > 0)
        // Waiting writes run between two steps.
        await Bun.sleep(5);
      if (signal?.aborted === true) return;
      await database.migrate((tx) => forgetDrop(tx.slow, row), "event-loop", { whileReadOnly: true });
    }
  }
}
