/** The collections of PocketBase with their new names: which collection, which field and which id becomes what. */
import { USERS } from "@socle/protocol";
import { collectionNameFor, fieldNameFor } from "../names.ts";
import { movedId } from "../source.ts";
import type { PbCollection, PbField } from "./sql/data-folder.ts";

export interface NewField {
  readonly pb: PbField;
  /** The new name: `createdAt` and `updatedAt` for the fields that become these times. */
  readonly to: string;
}

/** A collection that holds records, and the place of its records. */
export class PlacedCollection {
  readonly pb: PbCollection;
  /** The new name: `users` for each auth collection. */
  readonly to: string;
  /** The fields with a place, in order. */
  readonly fields: readonly NewField[];
  readonly #time: number;

  constructor(pb: PbCollection, to: string, fields: readonly NewField[]) {
    this.pb = pb;
    this.to = to;
    this.fields = fields;
    this.#time = Date.parse(pb.created.replace(" ", "T")) || 0;
  }

  get isUsers(): boolean {
    return this.to === USERS;
  }

  field(name: string): NewField | undefined {
    return this.fields.find(({ pb }) => pb.name === name);
  }

  /** The id for an old id. All ids of a collection have the time at which the collection was made. */
  idFor(id: string): string {
    return movedId(this.isUsers ? "usr" : "rec", `${this.pb.id}/${id}`, this.#time);
  }

  fileIdFor(id: string, name: string): string {
    return movedId("fil", `${this.pb.id}/${id}/${name}`, this.#time);
  }
}

export function isMultiple({ type, maxSelect = 0 }: PbField): boolean {
  return ["select", "relation", "file"].includes(type) && maxSelect > 1;
}

/** Account fields have a place of their own in `users`. */
function hasPlace({ type }: PbCollection, field: PbField): boolean {
  const isAccount = type === "auth" && ["email", "verified", "tokenKey"].includes(field.name);
  return field.name !== "id" && field.type !== "password" && !isAccount;
}

/** The autodate fields that become the times of a record: the field set at creation, and the field set with each change. */
function timesOf(fields: readonly PbField[]): { created: PbField | undefined; updated: PbField | undefined } {
  const dates = fields.filter(({ type, onCreate }) => type === "autodate" && onCreate === true);
  return {
    created: dates.find(({ onUpdate }) => onUpdate !== true),
    updated: dates.find(({ onUpdate }) => onUpdate === true),
  };
}

/**
 * @param taken the names of earlier fields of the same new collection, in lower case.
 * @param shared the earlier fields, by name: a field of the same form shares the place.
 */
function placed(
  pb: PbCollection,
  to: string,
  { taken, shared }: { taken: Set<string>; shared: Map<string, NewField> },
) {
  const { created, updated } = timesOf(pb.fields);
  const fields = pb.fields
    .filter((field) => hasPlace(pb, field))
    .map((field): NewField => {
      if (field === created) return { pb: field, to: "createdAt" };
      if (field === updated) return { pb: field, to: "updatedAt" };
      const same = shared.get(field.name);
      const isSame =
        same?.pb.type === field.type &&
        isMultiple(same.pb) === isMultiple(field) &&
        same.pb.collectionId === field.collectionId;
      const place = { pb: field, to: same !== undefined && isSame ? same.to : fieldNameFor(field.name, to, taken) };
      if (same === undefined) shared.set(field.name, place);
      return place;
    });
  return new PlacedCollection(pb, to, fields);
}

export class World {
  /** Without views; users first. */
  readonly collections: readonly PlacedCollection[];
  readonly views: readonly PbCollection[];

  constructor(all: readonly PbCollection[]) {
    this.views = all.filter(({ type }) => type === "view");
    const auth = all.filter(({ type }) => type === "auth");
    // The collection `users` is the first, whichever was made first.
    auth.sort((a, b) => Number(b.name === USERS) - Number(a.name === USERS));
    const ofUsers = { taken: new Set<string>(), shared: new Map<string, NewField>() };
    const names = new Set<string>();
    this.collections = [
      ...auth.map((pb) => placed(pb, USERS, ofUsers)),
      ...all
        .filter(({ type }) => type === "base")
        .map((pb) => placed(pb, collectionNameFor(pb.name, names), { taken: new Set(), shared: new Map() })),
    ];
  }

  get users(): readonly PlacedCollection[] {
    return this.collections.filter(({ isUsers }) => isUsers);
  }

  byId(id: string | undefined): PlacedCollection | undefined {
    return this.collections.find(({ pb }) => pb.id === id);
  }

  named(name: string): PlacedCollection | undefined {
    return this.collections.find(({ pb }) => pb.id === name || pb.name.toLowerCase() === name.toLowerCase());
  }
}
