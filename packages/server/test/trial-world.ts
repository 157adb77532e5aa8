/** Kit of the tests of trials of definitions: teams with members, notes of a team, and three users. */
import { expect } from "bun:test";
import type { CallerEffects, RuleEffects, StoredRecord } from "@socle/protocol";
import { openApi } from "./kit.ts";

export interface Definition {
  [attribute: string]: unknown;
}

export const teams = {
  name: "teams",
  fields: [{ name: "name", type: "string" }],
  permissions: { read: "authenticated" },
};
const members = {
  name: "members",
  fields: [
    { name: "team", type: "relation", collection: "teams", required: true },
    { name: "user", type: "relation", collection: "users", required: true },
    { name: "role", type: "string" },
  ],
  permissions: { read: "admin" },
};
export const notes = {
  name: "notes",
  fields: [
    { name: "text", type: "string" },
    { name: "status", type: "string", values: ["open", "done"] },
    { name: "points", type: "integer" },
    { name: "tags", type: "string", multiple: true },
    { name: "team", type: "relation", collection: "teams" },
    { name: "parent", type: "relation", collection: "notes" },
  ],
  permissions: { read: "public", create: "authenticated", update: "owner", delete: "owner" },
};

/** A new service with the collections, an admin and the users. */
export async function opened() {
  const api = await openApi({ collections: [teams, members, notes] });
  const admin = await api.admin();
  const users = [];
  for (const name of ["ann", "bob", "eve"]) users.push(await api.register(`${name}@example.com`));
  const make = async (name: string, body: object, token = admin): Promise<string> => {
    const answer = await api.request<StoredRecord>("POST", `/api/${name}`, { body, token });
    expect([answer.status, answer.body]).toEqual([201, answer.body]);
    return answer.body.id;
  };
  return { api, admin, users, make };
}

/** The effects on a caller. @param email null for callers without an account. */
export function on({ callers }: RuleEffects, email: string | null): CallerEffects {
  const found = callers.find(({ as }) => (as?.email ?? null) === email);
  if (found === undefined) throw new Error(`There is no caller ${email}`);
  return found;
}
