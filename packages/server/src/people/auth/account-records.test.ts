/**
 * The records of users follow the accounts: after a random history of accounts, fields and definitions, each user has one
 * record with the same email, role and proof, and nobody else has a record; lists, counts and the log agree.
 */
import { expect, test } from "bun:test";
import type { Role, StoredRecord } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import { randomNumbers, randomSeed } from "../../../test/random.ts";
import { system } from "../../base/kernel/index.ts";
import { parseDefinition } from "../../data/collections/index.ts";
import { nothingShown } from "./credentials.ts";

const roles: readonly Role[] = ["admin", "authenticated", "public"];
const bases = [
  [{ name: "name", type: "string" }],
  [
    { name: "name", type: "string" },
    { name: "tags", type: "string", multiple: true },
  ],
  [
    { name: "title", type: "string", renamedFrom: "name" },
    { name: "number", type: "integer", sequence: true },
  ],
];

test("the record of a user is the account's, whatever happens", async () => {
  const seed = randomSeed("account-records");
  const random = randomNumbers(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const { service, admin, request } = await openApi({});
  const { auth, database, collections, records } = service;
  await admin();
  const { users } = auth;
  let made = 0;
  const ids: string[] = [];
  const define = async (fields: readonly object[] | null): Promise<void> => {
    const change =
      fields === null
        ? { define: [], drop: collections.get("users") === undefined ? [] : ["users"] }
        : { define: [parseDefinition({ name: "users", fields })], drop: [] };
    await database
      .migrate((tx) => collections.migrate(tx, change, system), "event-loop")
      .catch((thrown: unknown) => {
        // Renames of fields that are not there, and unclear renames, are refused.
        expect(thrown).toMatchObject({ code: "bad_request" });
      });
  };
  const steps: (() => Promise<unknown>)[] = [
    () => {
      made += 1;
      const values = { email: `u${made}@example.com`, passwordHash: "", role: pick(roles) ?? "public" };
      return database.transact((tx) => ids.push(users.create(tx, values, system).id));
    },
    () => database.transact((tx) => users.setRole(tx, { id: pick(ids) ?? "", role: pick(roles) ?? "admin" }, system)),
    () => database.transact((tx) => users.delete(tx, pick(ids) ?? "", system)),
    () => database.transact((tx) => users.prove(tx, users.get(pick(ids) ?? "", tx), { shown: nothingShown, by: null })),
    () =>
      database.transact((tx) =>
        users.change(
          tx,
          { user: users.get(pick(ids) ?? "", tx), email: `u${Math.ceil(random() * made)}x@example.com` },
          null,
        ),
      ),
    () =>
      database.transact((tx) =>
        users.makeAdmin(tx, { email: `u${Math.ceil(random() * (made + 2))}@example.com`, passwordHash: "" }),
      ),
    () => records.update("users", system, { record: pick(ids) ?? "", body: { name: String(random()) } }),
    () => define(random() < 0.2 ? null : (pick(bases) ?? [])),
  ];
  for (let round = 0; round < 400; round += 1) {
    // A step may be refused: a user is gone, an email is taken, the last admin stays, a field is not there.
    await (round === 0 ? define(bases[0] ?? []) : pick(steps)?.())?.catch((thrown: unknown) => {
      if (!(thrown instanceof Error) || !("code" in thrown)) throw thrown;
    });
    const collection = collections.get("users");
    if (collection === undefined) continue;
    const accounts = database.reader.all<object>(
      "SELECT id, id AS _owner, email, role, verifiedAt IS NOT NULL AS verified, createdAt FROM _users ORDER BY _seq",
    );
    const found = database.reader.all<object>(
      "SELECT id, _owner, email, role, verified, createdAt FROM users ORDER BY _seq",
    );
    expect({ seed, round, found }).toEqual({ seed, round, found: accounts });
    expect([seed, round, records.count(collection)]).toEqual([seed, round, accounts.length]);
  }
  await define(null);
  await define(bases[1] ?? []);
  const answer = await request<{ items: StoredRecord[] }>("GET", "/api/users", { token: await admin() });
  expect(answer.body.items.length).toBe(users.search({ limit: 1_000, offset: 0 }).total);
});
