/** Pointers: the relations with `onDelete`. */
import type { OnDelete } from "@socle/protocol";
import type { Collections } from "../collections/index.ts";
import { type RecordTable, recordTableOf } from "./record-table.ts";

/** A relation with `onDelete`. */
export interface Pointer {
  readonly table: RecordTable;
  readonly field: string;
  readonly onDelete: OnDelete;
}

const none: readonly Pointer[] = [];

export class Pointers {
  readonly #collections: Collections;
  #epoch = -1;
  /** The pointers by target collection. */
  #byTarget = new Map<string, Pointer[]>();

  constructor(collections: Collections) {
    this.#collections = collections;
  }

  /** The pointers to a collection, or to "users". */
  to(target: string): readonly Pointer[] {
    if (this.#epoch !== this.#collections.epoch) this.#read();
    return this.#byTarget.get(target) ?? none;
  }

  #read(): void {
    this.#epoch = this.#collections.epoch;
    this.#byTarget = new Map();
    for (const collection of this.#collections.all())
      for (const { name, onDelete, collection: target } of collection.definition.fields) {
        if (onDelete === undefined || target === undefined) continue;
        const pointer = { table: recordTableOf(collection), field: name, onDelete };
        this.#byTarget.set(target, [...(this.#byTarget.get(target) ?? []), pointer]);
      }
  }
}
