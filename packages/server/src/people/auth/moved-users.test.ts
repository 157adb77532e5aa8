/** Users of other services: the proof of an address, links of unproven accounts, and the kinds of hashes. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { firebaseHash } from "./firebase-scrypt.ts";
import { foreignHashes, kindOf } from "./foreign-hash-table.ts";
import { linksOf } from "./providers/provider-table.ts";

const api = await openApi({});
const { database, auth } = api.service;
const { reader } = database;
const since = "2020-01-01T00:00:00.000Z";
const link = (subject: string) => ({ provider: "google", issuer: "https://accounts.google.com", subject });

interface Row {
  readonly email: string | null;
  readonly passwordHash?: string;
  readonly verifiedAt?: string | null;
  readonly links?: readonly ReturnType<typeof link>[];
}

/** Moves the row of a user, and answers the user. */
const move = (id: string, { email, passwordHash = "", verifiedAt = null, links = [] }: Row) =>
  database.transact((tx) =>
    auth.movedUsers.moveIn(
      tx,
      { email, passwordHash, moved: { id, createdAt: since, updatedAt: since, verifiedAt } },
      links,
    ),
  );
const newUser = (): string => `usr_${crypto.randomUUID()}`;

describe("a later run", () => {
  test("a proof of an address proves no other address", async () => {
    const id = newUser();
    expect(await move(id, { email: "ann@example.com", verifiedAt: since })).toMatchObject({ verified: true });
    const changed = await move(id, { email: "other@example.com" });
    expect(changed).toMatchObject({ email: "other@example.com", verified: false });
    expect(auth.users.find(id)).toEqual(changed);
    expect(await move(id, { email: "other@example.com", verifiedAt: since })).toMatchObject({ verified: true });
  });

  test("a proof that the user has made here stays", async () => {
    const id = newUser();
    await move(id, { email: "ben@example.com" });
    await database.transact((tx) =>
      auth.users.prove(tx, auth.users.get(id, tx), { shown: { password: false, sessionId: null }, by: null }),
    );
    expect(await move(id, { email: "ben@example.com" })).toMatchObject({ verified: true });
  });

  test("the links of an unproven account do not come back after the first proof", async () => {
    const id = newUser();
    const row = { email: "cem@example.com", links: [link("of a stranger")] };
    await move(id, row);
    expect(linksOf(reader, id)).toHaveLength(1);
    await database.transact((tx) =>
      auth.users.prove(tx, auth.users.get(id, tx), { shown: { password: false, sessionId: null }, by: null }),
    );
    expect(linksOf(reader, id)).toEqual([]);
    await move(id, row);
    expect(linksOf(reader, id)).toEqual([]);
    await move(id, { ...row, verifiedAt: since, links: [link("of cem")] });
    expect(linksOf(reader, id).map(({ subject }) => subject)).toEqual(["of cem"]);
  });

  test("a link of another user stays with the other user", async () => {
    const [one, other] = [newUser(), newUser()];
    await move(one, { email: null, links: [link("of both")] });
    await move(other, { email: null, links: [link("of both")] });
    expect([linksOf(reader, one).length, linksOf(reader, other).length]).toEqual([1, 0]);
  });

  test("a new hash of the source replaces an old hash of the source alone", async () => {
    const [id, email] = [newUser(), "dora@example.com"];
    const hash = (text: string) => Bun.password.hashSync(text, { algorithm: "bcrypt", cost: 4 });
    const login = async (password: string): Promise<number> =>
      (await api.request("POST", "/api/auth/login", { body: { email, password } })).status;
    await move(id, { email, passwordHash: hash("first password") });
    await move(id, { email, passwordHash: hash("second password") });
    expect([await login("first password"), await login("second password")]).toEqual([401, 200]);
    await move(id, { email, passwordHash: hash("third password") });
    expect([await login("third password"), await login("second password")]).toEqual([401, 200]);
  });
});

test("every kind of hash has a hash of the kind, whatever the number of kinds", async () => {
  const costs = [4, 5, 6, 7];
  for (const cost of [...costs, ...costs])
    await move(newUser(), { email: null, passwordHash: Bun.password.hashSync("p", { algorithm: "bcrypt", cost }) });
  const base64 = (length: number): string => Buffer.alloc(length, 7).toString("base64");
  for (const mem_cost of [3, 2, 3]) {
    const parameters = { base64_signer_key: base64(64), base64_salt_separator: base64(1), rounds: 8, mem_cost };
    const passwordHash = firebaseHash(parameters, { salt: base64(10), hash: base64(64) });
    await move(newUser(), { email: null, passwordHash });
  }
  const firebase = ["$firebase-scrypt$2$8", "$firebase-scrypt$3$8"];
  expect(foreignHashes(reader).map(kindOf)).toEqual([...costs.map((cost) => `$2b$0${cost}`), ...firebase]);
});

test("a text that is no hash refuses a login of the user alone", async () => {
  await api.register("frank@example.com");
  for (const passwordHash of ["x", "$2a$10$short", "$2a$99$", "$9$", "{SHA}abc"])
    await move(newUser(), { email: null, passwordHash });
  const body = { email: "frank@example.com", password: "correct horse" };
  expect((await api.request("POST", "/api/auth/login", { body })).status).toBe(200);
});
