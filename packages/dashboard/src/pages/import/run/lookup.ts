/** Ids of records by a unique value. Each value is looked up once. */
import { filter } from "@socle/client";
import { client } from "../../../service/client.ts";
import { unlessGone } from "../../../service/refusals.ts";
import type { LookupKey } from "../mapping/convert.ts";

/** Most cached answers; the oldest answers are dropped first. */
const maxKept = 20_000;

export class Lookup {
  readonly #find: (key: LookupKey) => Promise<string | null>;
  readonly #found = new Map<string, Promise<string | null>>();

  constructor(find: (key: LookupKey) => Promise<string | null>) {
    this.#find = find;
  }

  /** The id of the record, or null without a match. A failed request is not cached. */
  resolve(key: LookupKey): Promise<string | null> {
    const name = JSON.stringify([key.collection, key.field, key.value]);
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#find(key);
    this.#found.set(name, found);
    found.catch(() => this.#found.delete(name));
    if (this.#found.size > maxKept) {
      const [oldest] = this.#found.keys();
      if (oldest !== undefined) this.#found.delete(oldest);
    }
    return found;
  }
}

/** The id, or null without a match. @throws SocleError. */
export async function findRecord({ collection, field, value }: LookupKey): Promise<string | null> {
  if (collection === "users") return findUser(field, String(value));
  const { items } = await client
    .collection(collection)
    .page<{ id: string }>({ filter: `${field}${filter` = ${value}`}`, fields: "id", limit: 1 });
  return items[0]?.id ?? null;
}

async function findUser(field: string, value: string): Promise<string | null> {
  if (field === "id") return (await unlessGone(client.admin.users.get(value)))?.id ?? null;
  const email = value.trim().toLowerCase();
  const { items } = await client.admin.users.list({ search: email, limit: 1_000 });
  return items.find((user) => user.email === email)?.id ?? null;
}
