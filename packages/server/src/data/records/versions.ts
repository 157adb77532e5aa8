/** Versions: a number for each collection that changes with its records, for caches and conditional requests. */

import { isAdmin, type Principal } from "../../base/kernel/index.ts";
import type { Projection } from "../../store/database/index.ts";
import type { Collection } from "../collections/index.ts";
import type { Decision } from "../permissions/index.ts";
import { recordsChanged } from "./record-effects.ts";

/** Owners of one collection whose last change is remembered; beyond, all owners count as changed. */
const maxOwners = 10_000;

interface Changes {
  /** The last change of any record. */
  last: number;
  /** The last change of an owner's records, by owner. */
  readonly byOwner: Map<string, number>;
  /** The last change of the owners that are not remembered. */
  ofOthers: number;
}

/**
 * The last change of the records of each collection, as a number that only grows; kept in memory while the service runs. A
 * caller who sees only own records gets the last change of these records.
 */
export class Versions {
  /** Random for each run of the service, so that a version of an earlier run never fits. */
  readonly #run = crypto.randomUUID().slice(0, 8);
  readonly #changes = new Map<string, Changes>();
  readonly #collections = new WeakMap<Collection, number>();
  #now = 0;

  constructor(projection: Projection) {
    projection.on(recordsChanged, ({ collection, owners }) => this.#changed(collection, owners));
  }

  #changed(collection: string, owners: readonly (string | null)[]): void {
    this.#now += 1;
    const changes = this.#of(collection);
    changes.last = this.#now;
    for (const owner of owners) {
      if (owner === null) continue;
      if (changes.byOwner.size >= maxOwners && !changes.byOwner.has(owner)) {
        changes.byOwner.clear();
        changes.ofOthers = this.#now;
      }
      changes.byOwner.set(owner, this.#now);
    }
  }

  /** The version of all that a caller can see of some collections, and of their definitions. */
  of(entered: ReadonlyMap<Collection, Decision>, principal: Principal): string {
    const userId = principal?.userId ?? null;
    let version = this.#run;
    for (const [collection, { access }] of entered) {
      version += `.${this.#definitionOf(collection).toString(36)}`;
      // Admins get other fields of the same records: the role is a part of the version.
      if (collection.fieldPolicies !== null) version += isAdmin(principal) ? "f" : "-f";
      if (access === "none") continue;
      const { last, byOwner, ofOthers } = this.#of(collection.name);
      // All records, own records and the records of a rule may have the same last change, and differ.
      if (access === "own") version += `-o${(byOwner.get(userId ?? "") ?? ofOthers).toString(36)}`;
      else version += `-${access === "all" ? "a" : "w"}${last.toString(36)}`;
    }
    return version;
  }

  #of(collection: string): Changes {
    let changes = this.#changes.get(collection);
    if (changes === undefined) {
      changes = { last: 0, byOwner: new Map(), ofOthers: 0 };
      this.#changes.set(collection, changes);
    }
    return changes;
  }

  #definitionOf(collection: Collection): number {
    let number = this.#collections.get(collection);
    if (number === undefined) {
      this.#now += 1;
      number = this.#now;
      this.#collections.set(collection, number);
    }
    return number;
  }
}
