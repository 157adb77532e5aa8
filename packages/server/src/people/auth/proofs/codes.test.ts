/** Tests of sign-ins with a code from a mail. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { openApi } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";

const settings = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_AUTH_CODES: "true",
  SERVICE_LIMITS_RATE_MAIL: "off",
  SERVICE_LIMITS_RATE_LOGIN: "off",
  SERVICE_LIMITS_RATE_RECIPIENT: "off",
};
const api = await openApi({ settings });
const { auth, database } = api.service;
const mailbox = new Mailbox(api.service);
let people = 0;

async function post(path: string, body: object, address = `address-${people}`) {
  return api.request("POST", `/api/auth/${path}`, { body, headers: { "x-test-address": address } });
}

async function person() {
  const email = `coder-${people++}@example.com`;
  return { ...(await api.register(email)), email };
}

async function ask(email: string): Promise<string> {
  const answer = await post("code/request", { email });
  expect(answer.status).toBe(202);
  await mailbox.written();
  return String(answer.body["attempt"]);
}

/** A code that is not the code. */
function wrong(code: string, by = 1): string {
  return String((Number(code) + by) % 1_000_000).padStart(6, "0");
}

const invalid = {
  status: 400,
  body: {
    error: { code: "bad_request", message: "The token or code is unknown, used or expired. Begin again." },
  },
};

afterEach(() => setSystemTime());

describe("a code", () => {
  test("signs in once, and proves the address: the former password is gone", async () => {
    const { email, accessToken } = await person();
    const attempt = await ask(email);
    const code = await mailbox.secret(email, "code");
    expect(code).toMatch(/^\d{6}$/);
    const answer = await post("code", { attempt, code: ` ${code.slice(0, 3)} ${code.slice(3)}` });
    expect(answer.body).toMatchObject({ tokenType: "Bearer", user: { email, verified: true } });
    expect(answer.status).toBe(200);
    const token = String(answer.body["accessToken"]);
    expect((await api.request("GET", "/api/auth/me", { token })).status).toBe(200);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    expect((await post("login", { email, password: "correct horse" })).status).toBe(401);
    expect(await post("code", { attempt, code })).toMatchObject(invalid);
  });

  test("for a proven address keeps the password and the sessions", async () => {
    const { email } = await person();
    await post("code", { attempt: await ask(email), code: await mailbox.secret(email, "code") });
    const token = await mailbox.secret(email, "code");
    const { user } = (await post("code", { attempt: await ask(email), code: await mailbox.secret(email, "code") }))
      .body;
    expect(user).toMatchObject({ email });
    expect(token).toMatch(/^\d{6}$/);
    expect(auth.users.sessions(String(user?.["id"])).length).toBe(2);
  });

  test("works only for the attempt that requested the code", async () => {
    const { email, user } = await person();
    const first = await ask(email);
    const code = await mailbox.secret(email, "code");
    const second = await ask(email);
    const other = await mailbox.secret(email, "code");
    expect(await post("code", { attempt: second, code: code === other ? wrong(code) : code })).toMatchObject(invalid);
    expect(await post("code", { attempt: "x", code })).toMatchObject(invalid);
    expect(auth.users.get(user.id).verified).toBe(false);
    expect((await post("code", { attempt: first, code })).status).toBe(200);
    // A sign-in ends the other codes.
    expect(await post("code", { attempt: second, code: other })).toMatchObject(invalid);
  });

  test("used twice at the same moment opens a single session", async () => {
    const { email, user } = await person();
    const attempt = await ask(email);
    const code = await mailbox.secret(email, "code");
    const answers = await Promise.all([post("code", { attempt, code }), post("code", { attempt, code })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(auth.users.sessions(user.id).length).toBe(1);
  });

  test("ends after ten minutes", async () => {
    const { email } = await person();
    const attempt = await ask(email);
    const code = await mailbox.secret(email, "code");
    setSystemTime(Date.now() + 10 * 60_000 + 1);
    expect(await post("code", { attempt, code })).toMatchObject(invalid);
  });

  test("has five tries for an account, over all attempts and addresses", async () => {
    const { email } = await person();
    for (let i = 0; i < 5; i++) {
      const attempt = await ask(email);
      const code = await mailbox.secret(email, "code");
      expect(await post("code", { attempt, code: wrong(code) }, `guesser-${i}`)).toMatchObject(invalid);
    }
    const attempt = await ask(email);
    const code = await mailbox.secret(email, "code");
    const refused = await post("code", { attempt, code }, "owner");
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    // The account has other ways in.
    expect((await post("login", { email, password: "correct horse" }, "owner")).status).toBe(200);
    const bystander = await person();
    const right = { attempt: await ask(bystander.email), code: await mailbox.secret(bystander.email, "code") };
    expect((await post("code", right, "owner")).status).toBe(200);
  });

  test("has five tries for an unknown address, too: the number reveals nothing about the account", async () => {
    const attempt = await ask("nobody@example.com");
    for (let i = 0; i < 5; i++)
      expect(await post("code", { attempt, code: `00000${i}` }, `nobody-${i}`)).toMatchObject(invalid);
    expect((await post("code", { attempt, code: "000009" }, "nobody")).status).toBe(429);
    expect(await mailbox.to("nobody@example.com")).toEqual([]);
  });

  test("has five tries for an unknown address, also over attempts whose rows are gone", async () => {
    const attempts = [await ask("gone@example.com"), await ask("gone@example.com")];
    await database.transact((tx) => tx.run("DELETE FROM _proofs WHERE email = 'gone@example.com'"));
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++)
      statuses.push((await post("code", { attempt: attempts[i % 2], code: `00000${i}` }, `gone-${i}`)).status);
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
  });

  test("for an unknown attempt locks no user out, and leaves nothing of its text in memory", async () => {
    const { email } = await person();
    for (let i = 0; i < 6; i++) await post("code", { attempt: email, code: "000000" }, `liar-${i}`);
    const right = { attempt: await ask(email), code: await mailbox.secret(email, "code") };
    const made = right.attempt.split(".");
    // The hash of the email, with another signature.
    for (let i = 0; i < 6; i++)
      await post("code", { attempt: `x.${made[1]}.${made[2]}`, code: "000000" }, `forger-${i}`);
    expect((await post("code", right, "owner")).status).toBe(200);
    Bun.gc(true);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 20; i++) {
      const attempt = `${i}${"x".repeat(900_000)}`;
      expect((await post("code", { attempt, code: "000000" }, `flood-${i}`)).status).toBeGreaterThanOrEqual(400);
    }
    Bun.gc(true);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(9_000_000);
  });

  test("has twenty tries from an address, over all accounts", async () => {
    for (let i = 0; i < 20; i++) {
      const attempt = await ask(`sprayed-${i}@example.com`);
      expect(await post("code", { attempt, code: "000000" }, "sprayer")).toMatchObject(invalid);
    }
    const { email } = await person();
    const right = { attempt: await ask(email), code: await mailbox.secret(email, "code") };
    expect((await post("code", right, "sprayer")).status).toBe(429);
    expect((await post("code", right, "bystander")).status).toBe(200);
  });

  test("in another form is no try, and names the field", async () => {
    const { email } = await person();
    const attempt = await ask(email);
    for (let i = 0; i < 7; i++) {
      const answer = await post("code", { attempt, code: "12345" });
      expect(answer.body).toMatchObject({ error: { details: [{ field: "code", rule: "regex" }] } });
    }
    expect((await post("code", { attempt, code: await mailbox.secret(email, "code") })).status).toBe(200);
  });

  test("for a user with a second factor leads to the second factor, and opens no session", async () => {
    const { email, user } = await person();
    await post("code", { attempt: await ask(email), code: await mailbox.secret(email, "code") });
    await database.transact((tx) => tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'sealed')", user.id));
    const answer = await post("code", { attempt: await ask(email), code: await mailbox.secret(email, "code") });
    expect(answer.body).toMatchObject({ next: "second_factor" });
    expect(answer.body["accessToken"]).toBeUndefined();
    expect(auth.users.sessions(user.id).length).toBe(1);
  });

  test("as the first proof removes a second factor that was made before", async () => {
    const { email, user } = await person();
    await database.transact((tx) => tx.run("INSERT INTO _totp (userId, secret) VALUES (?, 'sealed')", user.id));
    const answer = await post("code", { attempt: await ask(email), code: await mailbox.secret(email, "code") });
    expect([answer.status, typeof answer.body["accessToken"]]).toEqual([200, "string"]);
    expect(database.reader.all("SELECT 1 FROM _totp WHERE userId = ?", user.id)).toEqual([]);
  });

  test("is 403 when codes are off", async () => {
    const { SERVICE_AUTH_CODES: _, ...others } = settings;
    const off = await openApi({ settings: others });
    const codes = [
      await off.request("POST", "/api/auth/code/request", { body: { email: "a@example.com" } }),
      await off.request("POST", "/api/auth/code", { body: { attempt: "x", code: "000000" } }),
    ];
    expect(codes.map(({ status }) => status)).toEqual([403, 403]);
  });
});

test("proofs of addresses without a user are bounded", async () => {
  const count = () => database.reader.get<{ n: number }>("SELECT count(*) AS n FROM _proofs WHERE userId IS NULL")?.n;
  const { email } = await person();
  const attempt = await ask(email);
  const code = await mailbox.secret(email, "code");
  await ask("unknown@example.com");
  const before = count() ?? 0;
  // The same proof for other addresses, up to ten below the bound.
  await database.transact((tx) =>
    tx.run(
      `WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
       INSERT INTO _proofs (hash, purpose, email, details, expiresAt)
       SELECT hash || n, purpose, n || email, details, expiresAt FROM _proofs, c WHERE email = 'unknown@example.com'`,
      990 - before,
    ),
  );
  for (let i = 0; i < 30; i++) await ask(`unknown-${i}@example.com`);
  expect(count()).toBe(1_000);
  expect((await post("code", { attempt, code })).status).toBe(200);
});
