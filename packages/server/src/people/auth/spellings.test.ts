/** Tests of spellings of a domain: one account at every way in, and the pairs of users that earlier versions have stored. */
import { expect, test } from "bun:test";
import { openApi, temporaryFolder } from "../../../test/kit.ts";
import { sharedAddresses } from "./index.ts";
import { addressOf } from "./providers/takeover.ts";

const people = "info@dömäin.example";
const spellings = [people, "INFO@DÖMÄIN.example", "info@xn--dmin-moa0i.example", "info@do\u0308ma\u0308in。example"];
const password = "correct horse";
const settings = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example",
  SERVICE_AUTH_CODES: "true",
  SERVICE_LIMITS_RATE_RECIPIENT: "off",
};

test("each spelling of a domain is a single account, in every sign-in method, and is shown as written", async () => {
  for (const first of spellings) {
    const api = await openApi({ settings });
    const { auth, database } = api.service;
    const post = (path: string, body: object, token?: string) =>
      api.request("POST", path, { body, ...(token !== undefined && { token }) });
    const made = await post("/api/auth/register", { email: first, password });
    expect([made.status, String(made.body["user"]?.["email"])]).toEqual([201, people]);
    const id = String(made.body["user"]?.["id"]);
    const token = await api.admin();
    for (const email of spellings) {
      expect((await post("/api/auth/register", { email, password })).status).toBe(409);
      expect(String((await post("/api/auth/login", { email, password })).body["user"]?.["id"])).toBe(id);
      expect((await post("/api/auth/password/forgot", { email })).status).toBe(202);
      expect((await post("/api/auth/verify/request", { email })).status).toBe(202);
      expect((await post("/api/auth/code/request", { email })).status).toBe(202);
      expect((await post("/api/admin/users", { email, password }, token)).status).toBe(409);
      expect((await post("/api/admin/invitations", { email }, token)).status).toBe(409);
      expect(await auth.makeAdmin({ email, password })).toBe("promoted");
      expect(await auth.seedAdmin({ email, password })).toBe("exists");
    }
    while (database.reader.all("SELECT 1 FROM _mails WHERE kind IN ('reset', 'code')").length < 2 * spellings.length)
      await Bun.sleep(1);
    const recipients = database.reader.all<{ recipient: string }>("SELECT DISTINCT recipient FROM _mails");
    expect(recipients).toEqual([{ recipient: people }]);
    expect(database.reader.all("SELECT id FROM _users")).toHaveLength(2);
    await api.close();
  }
});

test("admin.email makes an admin of each spelling; a provider proves a mailbox, however the domain is written", async () => {
  for (const [i, email] of spellings.entries()) {
    const api = await openApi({ settings: { SERVICE_ADMIN_EMAIL: spellings[(i + 1) % spellings.length] ?? "" } });
    const { body } = await api.request("POST", "/api/auth/register", { body: { email, password } });
    expect<unknown>(body["user"]?.["role"]).toBe("admin");
    await api.close();
  }
  const identity = { issuer: "https://id.example", subject: "1", isVerified: true, name: null };
  const proven = (email: string) => addressOf({ ...identity, email });
  for (const email of spellings.slice(0, 3)) expect(proven(email)).toEqual({ email: people, isProven: true });
  // A letter of another style in the name may be another mailbox.
  expect(proven("ｉnfo@dömäin.example")).toEqual({ email: people, isProven: false });
});

test("two users of an earlier version sign in by their spellings, are reported, and become a single form after a deletion", async () => {
  const folder = temporaryFolder();
  const first = await openApi({ folder, settings });
  const [own, other] = ["info@xn--dmin-moa0i.example", "eva@xn--fa-hia.de"];
  const { user: written } = await first.register(people);
  const { user: spelt } = await first.register("stand-in@example.com");
  const { user: alone } = await first.register("eva@example.com");
  await first.service.database.transact((tx) => {
    tx.run("UPDATE _users SET email = ? WHERE id = ?", own, spelt.id);
    tx.run("UPDATE _users SET email = ? WHERE id = ?", other, alone.id);
  });
  await first.close();

  const api = await openApi({ folder, settings });
  const { auth, database } = api.service;
  const idOf = async (email: string, at = api): Promise<string> =>
    String((await at.request("POST", "/api/auth/login", { body: { email, password } })).body["user"]?.["id"]);
  const line = `Two users have one address, written ${own} and ${people}.`;
  expect(api.log.filter((entry) => entry.startsWith(`WARN ${line}`))).toHaveLength(1);
  expect(sharedAddresses(database.reader)).toEqual([expect.stringContaining(line)]);
  expect(await idOf(own)).toBe(spelt.id);
  expect(await idOf(own.toUpperCase())).toBe(spelt.id);
  expect(await idOf(people)).toBe(written.id);
  // A user without a pair has the present form, and signs in by each spelling.
  expect(await idOf("eva@faß.de")).toBe(alone.id);
  expect(await idOf(other)).toBe(alone.id);
  for (const [email, id] of [
    [own, spelt.id],
    [people, written.id],
  ] as const) {
    expect((await api.request("POST", "/api/auth/password/forgot", { body: { email } })).status).toBe(202);
    const sql = "SELECT 1 FROM _proofs WHERE purpose = 'reset' AND userId = ?";
    while (database.reader.get(sql, id) === null) await Bun.sleep(1);
  }
  expect(database.reader.all("SELECT 1 FROM _proofs WHERE purpose = 'reset'")).toHaveLength(2);
  await database.transact((tx) => auth.users.delete(tx, written.id, null));
  await api.close();

  const last = await openApi({ folder, settings });
  expect(last.log.join("\n")).not.toContain("Two users");
  for (const email of spellings) expect(await idOf(email, last)).toBe(spelt.id);
});
