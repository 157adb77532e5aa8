import type { ErrorDetail, FieldDefinition } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import { isUniqueViolation, type Reader, type Transactor, type Value } from "../database/index.ts";
import { AppError, type Awaitable, quote } from "../kernel/index.ts";
import { type Model, modelOf } from "./model.ts";

/** How records ask about what other modules keep. */
export interface Lookups {
  userExists(reader: Reader, id: string): Awaitable<boolean>;
  fileExists(reader: Reader, id: string): Awaitable<boolean>;
}

/** The checks of a body that only the database can answer. */
export class References {
  readonly #collections: Collections;
  readonly #lookups: Lookups;

  constructor(options: { collections: Collections; lookups: Lookups }) {
    this.#collections = options.collections;
    this.#lookups = options.lookups;
  }

  /** Adds a problem for each value that points to nothing. */
  async check(
    tx: Transactor,
    model: Model,
    values: readonly (Value | undefined)[],
    problems: ErrorDetail[],
  ): Promise<void> {
    for (const position of model.references) {
      const [field, value] = [model.fields[position], values[position]];
      if (field === undefined || typeof value !== "string" || (await this.#exists(tx, field, value))) continue;
      const isFile = field.type === "file";
      const what = isFile ? "stored file" : `record of "${field.collection}"`;
      problems.push({
        field: field.name,
        rule: isFile ? "file" : "relation",
        message: `${field.name} points to ${quote(value)}, but there is no such ${what}`,
      });
    }
  }

  /**
   * Runs a write, and turns a refusal by a unique index into the problems of the fields.
   * @throws AppError `validation_error`.
   */
  async write<T>(write: () => Awaitable<T>, duplicates: () => Promise<ErrorDetail[]>): Promise<T> {
    try {
      return await write();
    } catch (thrown) {
      if (!isUniqueViolation(thrown)) throw thrown;
      const problems = await duplicates();
      throw problems.length === 0 ? thrown : AppError.validation(problems);
    }
  }

  /** The unique fields whose value another record has. */
  async duplicates(
    tx: Transactor,
    model: Model,
    values: readonly (Value | undefined)[],
    id: string,
  ): Promise<ErrorDetail[]> {
    const problems: ErrorDetail[] = [];
    for (const [position, field] of model.fields.entries()) {
      const value = values[position];
      if (field.unique !== true || value === null || value === undefined) continue;
      if ((await tx.get(model.duplicate(field), value, id)) !== null)
        problems.push({ field: field.name, rule: "unique", message: `${field.name} is taken by another record` });
    }
    return problems;
  }

  #exists(tx: Transactor, field: FieldDefinition, id: string): Awaitable<boolean> {
    if (field.type === "file") return this.#lookups.fileExists(tx, id);
    if (field.collection === "users") return this.#lookups.userExists(tx, id);
    const target = this.#collections.get(field.collection ?? "");
    if (target === undefined) return false;
    const row = tx.get(modelOf(target).exists, id);
    return row instanceof Promise ? row.then((found) => found !== null) : row !== null;
  }
}
