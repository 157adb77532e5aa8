/** Takeover rules: nobody gets into an account by an email that the other side has not proven. */
import { describe, expect, test } from "bun:test";
import type { TokenResponse } from "@socle/protocol";
import { FakeProvider } from "../../../../test/fake-provider.ts";
import { eventsSince } from "../../../../test/kit.ts";
import { fragmentOf, openWithProviders, passProvider, TestApp } from "../../../../test/sign-in-world.ts";

const [one, two] = [new FakeProvider(), new FakeProvider()];
const api = await openWithProviders({ one, two }, { SERVICE_ADMIN_EMAIL: "boss@example.com" });
const { database, auth } = api.service;
const password = "correct horse";

type Person = Parameters<FakeProvider["approve"]>[1];

/** The outcome in the app: a user, or the code of an error. */
async function signIn(name: "one" | "two", person: Person, service = api): Promise<TokenResponse | string> {
  const app = new TestApp();
  const back = await passProvider({ api: service, fake: name === "one" ? one : two }, app.begin(name), person);
  const { code, error = "no code" } = fragmentOf(back);
  if (code === undefined) return error;
  return (await app.exchange<TokenResponse>(service, code)).body;
}

async function signedIn(name: "one" | "two", person: Person): Promise<TokenResponse> {
  const outcome = await signIn(name, person);
  if (typeof outcome === "string") throw new Error(`The sign-in failed: ${outcome}`);
  return outcome;
}

const verify = (id: string, service = api.service): Promise<object> =>
  service.database.transact((tx) =>
    service.auth.users.change(tx, { user: service.auth.users.get(id, tx), verified: true }, null),
  );
const linksOf = (userId: string): unknown[] =>
  database.reader.all("SELECT provider, subject FROM _links WHERE userId = ? ORDER BY provider", userId);

describe("an email with an account", () => {
  test.each<[isLocalProven: boolean, isProven: boolean, outcome: "linked" | "conflict"]>([
    [true, true, "linked"],
    [true, false, "conflict"],
    [false, true, "conflict"],
    [false, false, "conflict"],
  ])("proven here %p, proven at the provider %p: %s", async (isLocalProven, isProven, outcome) => {
    const email = `local-${isLocalProven}-${isProven}@example.com`;
    const { user } = await api.register(email);
    if (isLocalProven) await verify(user.id);
    const before = await eventsSince(api.service);
    const result = await signIn("one", { sub: email, email, email_verified: isProven });
    if (outcome === "linked") {
      expect(result).toMatchObject({ user: { id: user.id } });
      expect(linksOf(user.id)).toEqual([{ provider: "one", subject: email }]);
    } else {
      expect(result).toBe("conflict");
      expect(linksOf(user.id)).toEqual([]);
      expect(await eventsSince(api.service)).toEqual(before);
    }
    // The password still works in any case.
    await api.login(email);
  });

  test("pre-hijacking: an attacker registers the email first, and the owner of the email signs in at the provider", async () => {
    const email = "victim@example.com";
    const attacker = await api.register(email);
    expect(await signIn("one", { sub: "victim", email, email_verified: true })).toBe("conflict");
    expect(auth.users.find(attacker.user.id)?.verified).toBe(false);
  });

  test("the same email by two issuers: the second is linked only with a proof", async () => {
    const email = "two@example.com";
    const { user } = await signedIn("one", { sub: "a", email, email_verified: true });
    expect(await signIn("two", { sub: "a", email, email_verified: false })).toBe("conflict");
    expect(await signIn("two", { sub: "a", email, email_verified: true })).toMatchObject({ user: { id: user.id } });
    expect(linksOf(user.id)).toEqual([
      { provider: "one", subject: "a" },
      { provider: "two", subject: "a" },
    ]);
  });

  test("the same subject at another issuer is another person", async () => {
    const { user } = await signedIn("one", { sub: "same", email: "same-1@example.com", email_verified: true });
    const other = await signedIn("two", { sub: "same", email: "same-2@example.com", email_verified: true });
    expect(other.user.id).not.toBe(user.id);
  });

  test("an email that has another owner at the provider by now leads to no account", async () => {
    const email = "recycled@example.com";
    await signedIn("one", { sub: "first owner", email, email_verified: true });
    expect(await signIn("one", { sub: "second owner", email, email_verified: true })).toBe("conflict");
  });

  test("a person whose email changes at the provider stays the same user", async () => {
    const { user } = await signedIn("one", { sub: "mover", email: "old@example.com", email_verified: true });
    const taken = await api.register("taken@example.com");
    const again = await signedIn("one", { sub: "mover", email: "taken@example.com", email_verified: true });
    expect(again.user).toEqual(user);
    expect(again.user.id).not.toBe(taken.user.id);
  });
});

describe("a new account", () => {
  test("has no password, and the email is proven if the provider has proven the email", async () => {
    const proven = await signedIn("one", { sub: "new-1", email: "New-1@Example.com", email_verified: true });
    const unproven = await signedIn("one", { sub: "new-2", email: "new-2@example.com" });
    expect([proven.user, unproven.user]).toMatchObject([
      { email: "new-1@example.com", verified: true },
      { email: "new-2@example.com", verified: false },
    ]);
    for (const tried of ["", "x".repeat(8)])
      expect(
        (await api.request("POST", "/api/auth/login", { body: { email: "new-1@example.com", password: tried } }))
          .status,
      ).toBeOneOf([400, 401]);
  });

  test.each([[undefined], [""], ["no email"], ["a@b_c"], ["ann@example.com\r\nBcc: x@y.z"]])(
    "the email %j makes no account",
    async (email) => {
      const before = database.reader.get("SELECT count(*) AS n FROM _users");
      expect(await signIn("one", { sub: "without", email, email_verified: true })).toBe("forbidden");
      expect(database.reader.get("SELECT count(*) AS n FROM _users")).toEqual(before as object);
    },
  );

  test.each(["ｌook@example.com", "loo\u212a@example.com", " look@example.com"])(
    "the proof of the look-alike %j is no proof of the stored form",
    async (email) => {
      const { user } = await api.register(`look-${email.length}-${email.codePointAt(0)}@example.com`);
      await database.transact((tx) => tx.run("UPDATE _users SET email = 'look@example.com' WHERE id = ?", user.id));
      await verify(user.id);
      expect(await signIn("one", { sub: email, email, email_verified: true })).toBe("conflict");
      await database.transact((tx) => tx.run("UPDATE _users SET email = id || '@example.com' WHERE id = ?", user.id));
    },
  );

  test("admin.email makes an admin only by a proven email, once", async () => {
    const unproven = await signedIn("two", { sub: "eve", email: "boss@example.com" });
    expect(unproven.user.role).toBe("authenticated");
    await database.transact((tx) => auth.users.delete(tx, unproven.user.id, null));
    const boss = await signedIn("one", { sub: "boss", email: "boss@example.com", email_verified: true });
    expect(boss.user.role).toBe("admin");
  });

  test("without registration, only known people sign in", async () => {
    const person = { sub: "known", email: "known@example.com", email_verified: true };
    const closed = await openWithProviders({ one }, { SERVICE_AUTH_REGISTRATION: "false" });
    expect(await signIn("one", person, closed)).toBe("forbidden");
    const { database } = closed.service;
    expect(database.reader.get("SELECT count(*) AS n FROM _users")).toEqual({ n: 0 });
    const values = await closed.service.auth.users.prepare({ email: person.email, password });
    const made = await database.transact((tx) =>
      closed.service.auth.users.create(tx, { ...values, role: "authenticated" }, null),
    );
    await verify(made.id, closed.service);
    expect(await signIn("one", person, closed)).toMatchObject({ user: { id: made.id } });
  });

  test("two sign-ins of a new person at the same moment make a single user", async () => {
    const person = { sub: "twice", email: "twice@example.com", email_verified: true };
    const apps = [new TestApp(), new TestApp()];
    const codes: string[] = [];
    for (const app of apps)
      codes.push(fragmentOf(await passProvider({ api, fake: one }, app.begin("one"), person))["code"] ?? "");
    const exchange = async (i: number) => apps[i]?.exchange<TokenResponse>(api, codes[i] ?? "");
    const first = await Promise.all([exchange(0), exchange(1)]);
    const statuses = first.map((answer) => answer?.status);
    expect(statuses.toSorted()).toBeOneOf([
      [200, 200],
      [200, 409],
    ]);
    const late = statuses.indexOf(409);
    // The refused code still works.
    if (late >= 0) expect((await exchange(late))?.status).toBe(200);
    expect(database.reader.get("SELECT count(*) AS n FROM _users WHERE email = 'twice@example.com'")).toEqual({ n: 1 });
  });
});

describe("auth.requireVerified", () => {
  test("refuses new people without a proven email, and lets in whose email a linked provider proves later", async () => {
    const strict = await openWithProviders({ one, two }, { SERVICE_AUTH_REQUIRE_VERIFIED: "true" });
    const person = { sub: "strict", email: "strict@example.com" };
    expect(await signIn("one", person, strict)).toBe("forbidden");
    expect(strict.service.database.reader.get("SELECT count(*) AS n FROM _users")).toEqual({ n: 0 });
    expect(await signIn("one", { ...person, email_verified: true }, strict)).toMatchObject({
      user: { verified: true },
    });
    // A user from before the setting.
    const { database, auth } = strict.service;
    const made = await database.transact((tx) => {
      const user = auth.users.add(tx, { email: "early@example.com", passwordHash: "", role: "authenticated" }, null);
      const sql =
        "INSERT INTO _links (issuer, subject, userId, provider, email, createdAt) VALUES (?, 'early', ?, 'one', NULL, 0)";
      tx.run(sql, one.issuer, user.id);
      return user;
    });
    expect(await signIn("one", { sub: "early", email: "early@example.com" }, strict)).toMatchObject({
      error: { code: "forbidden" },
    });
    expect(
      await signIn("one", { sub: "early", email: "early@example.com", email_verified: true }, strict),
    ).toMatchObject({
      user: { id: made.id, verified: true },
    });
  });
});

describe("the first proof of an email by a provider", () => {
  test("removes earlier credentials, but for the link that proves", async () => {
    const email = "squatted@example.com";
    const { user, accessToken } = await signedIn("one", { sub: "owner", email, email_verified: false });
    const passwordHash = (await auth.users.prepare({ email, password })).passwordHash;
    await database.transact((tx) => {
      tx.run("UPDATE _users SET passwordHash = ? WHERE id = ?", passwordHash, user.id);
      const sql =
        "INSERT INTO _links (issuer, subject, userId, provider, email, createdAt) VALUES (?, 'eve', ?, 'two', NULL, 0)";
      tx.run(sql, two.issuer, user.id);
    });
    await api.login(email);
    const again = await signedIn("one", { sub: "owner", email, email_verified: true });
    expect(again.user).toMatchObject({ id: user.id, verified: true });
    expect(linksOf(user.id)).toEqual([{ provider: "one", subject: "owner" }]);
    expect((await api.request("POST", "/api/auth/login", { body: { email, password } })).status).toBe(401);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    expect((await api.request("GET", "/api/auth/me", { token: again.accessToken })).status).toBe(200);
  });

  test("another email at the provider proves nothing", async () => {
    const { user, accessToken } = await signedIn("one", { sub: "proof", email: "proof@example.com" });
    const again = await signedIn("one", { sub: "proof", email: "other@example.com", email_verified: true });
    expect(again.user).toEqual(user);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(200);
  });
});

test("the links of a deleted user are gone", async () => {
  const person = { sub: "leaver", email: "leaver@example.com", email_verified: true };
  const { user } = await signedIn("one", person);
  await database.transact((tx) => auth.users.delete(tx, user.id, null));
  expect(linksOf(user.id)).toEqual([]);
  expect((await signedIn("one", person)).user.id).not.toBe(user.id);
});
