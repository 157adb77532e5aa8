/** The search for a record or a user by a unique value. */
import { filter } from "@socle/client";
import { client } from "../../service/client.ts";
import { unlessGone } from "../../service/gone.ts";
import type { LookupKey } from "./mapping/convert.ts";

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
