/** Tests of the most common passwords: the list, and each way to set a password. */
import { describe, expect, test } from "bun:test";
import { openApi } from "../../../test/kit.ts";
import { packedCommonPasswords } from "./common-passwords.ts";
import { Passwords } from "./passwords.ts";

const caller = { key: "test" };
const common = "iloveyou1";
const refusal = expect.objectContaining({
  code: "validation_error",
  details: [expect.objectContaining({ field: "password", rule: "common" })],
});

const text = Bun.zstdDecompressSync(Buffer.from(packedCommonPasswords, "base64")).toString("latin1");
const words = text.split("\n").slice(1, -1);

test("the list has 10,000 passwords of at least eight characters, and the shortest passwords, in lower case", () => {
  expect(text.startsWith("\n") && text.endsWith("\n")).toBe(true);
  expect(words).toEqual([...new Set(words)].toSorted());
  expect(words.filter((word) => !/^[!-~]+$/.test(word) || word !== word.toLowerCase())).toEqual([]);
  expect(words.filter((word) => word.length >= 8)).toHaveLength(10_000);
  expect(words.length).toBeGreaterThan(16_000);
});

describe("a new password, if common passwords are refused", () => {
  const passwords = new Passwords(10, "refuse");

  test.each(["password", "PASSWORD", "12345678", "QwertyUiop", common])("%s is refused", async (password) => {
    await expect(passwords.hash(password, caller)).rejects.toEqual(refusal);
  });

  test.each([
    "correct horse",
    "a long password",
    "password password",
    "password ",
    // Two neighbours of the list, with the line break between.
    words.slice(500, 502).join("\n"),
    "\n",
    "пароль-пароль",
  ])("%j is accepted", async (password) => {
    expect(await passwords.hash(password, caller)).toStartWith("$argon2id$");
  });

  test("a common password of an earlier version still works", async () => {
    const hash = Bun.password.hashSync(common, { algorithm: "argon2id", memoryCost: 8, timeCost: 1 });
    expect(await passwords.verify(common, { hash }, caller)).toBe(true);
  });
});

test("a common password registers, changes and resets by default, as a client of any backend expects", async () => {
  const api = await openApi({});
  for (const password of ["password123", "12345678", "PASSWORD", common]) {
    const body = { email: `${password}@example.com`, password };
    expect((await api.request("POST", "/api/auth/register", { body })).status).toBe(201);
    expect((await api.request("POST", "/api/auth/login", { body })).status).toBe(200);
  }
  const { user, accessToken } = await api.register("ann@example.com");
  const body = { current: "correct horse", password: common };
  expect((await api.request("PUT", "/api/auth/password", { body, token: accessToken })).status).toBe(204);
  const token = await api.admin();
  const path = `/api/admin/users/${user.id}/password`;
  expect((await api.request("POST", path, { body: { password: "password1" }, token })).status).toBe(200);
});

test("the set-up of the first admin refuses a common password in any case", async () => {
  for (const commonPasswords of ["allow", "refuse"]) {
    const api = await openApi({ settings: { SERVICE_AUTH_COMMON_PASSWORDS: commonPasswords } });
    const link = `/api/auth/setup?token=${api.parts.admin.firstAdmin.invite()}`;
    const answer = await api.request("POST", link, { body: { email: "boss@example.com", password: common } });
    expect([answer.status, answer.body["error"]?.["details"]?.["0"]?.["rule"] as unknown]).toEqual([400, "common"]);
    expect(api.service.auth.users.adminExists()).toBe(false);
    const body = { email: "boss@example.com", password: "correct horse" };
    expect((await api.request("POST", link, { body })).status).toBe(201);
  }
});

test("auth.commonPasswords refuse: refused for users and by admins, and nothing is stored; the operator's admins have any password", async () => {
  const api = await openApi({ settings: { SERVICE_AUTH_COMMON_PASSWORDS: "refuse" } });
  const { auth, database } = api.service;
  const body = { email: "new@example.com", password: common };
  expect(await auth.makeAdmin({ ...body, email: "made@example.com" })).toBe("made");
  expect(await auth.seedAdmin({ ...body, email: "seeded@example.com" })).toBe("made");
  const token = await api.admin();
  const { user } = await api.register("ann@example.com");
  const before = database.reader.all("SELECT * FROM _users");
  for (const [path, sent] of [
    ["/api/auth/register", body],
    ["/api/admin/users", body],
    [`/api/admin/users/${user.id}/password`, { password: common }],
  ] as const) {
    const answer = await api.request("POST", path, { body: sent, token });
    expect([answer.status, answer.body["error"]?.["details"]?.["0"]?.["rule"] as unknown]).toEqual([400, "common"]);
  }
  expect(database.reader.all("SELECT * FROM _users")).toEqual(before);
  expect((await api.login("ann@example.com")).user.id).toBe(user.id);
});
