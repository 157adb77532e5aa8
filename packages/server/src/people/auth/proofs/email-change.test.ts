/** Tests of the move of an account to another address. */
import { describe, expect, setSystemTime, test } from "bun:test";
import { openApi } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";

const api = await openApi({
  settings: {
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_PUBLIC_URL: "https://shop.example.com",
    SERVICE_LIMITS_RATE_MAIL: "off",
    SERVICE_ADMIN_EMAIL: "boss@example.com",
  },
});
const { auth, database } = api.service;
const mailbox = new Mailbox(api.service);
const password = "correct horse";
let people = 0;

async function post(path: string, body: object, token?: string) {
  return api.request("POST", `/api/auth/${path}`, { body, ...(token !== undefined && { token }) });
}

async function person({ verified }: { verified: boolean }) {
  const number = people++;
  const email = `mover-${number}@example.com`;
  const { user, accessToken } = await api.register(email);
  if (verified) {
    await post("verify/request", { email });
    await post("verify", { token: await mailbox.secret(email, "verify") }, accessToken);
  }
  return { email, next: `moved-${number}@example.com`, id: user.id, accessToken };
}

async function login(email: string): Promise<number> {
  return (await post("login", { email, password })).status;
}

async function ask(email: string, accessToken: string): Promise<string> {
  expect((await post("email", { email, password }, accessToken)).status).toBe(202);
  return mailbox.secret(email, "email");
}

const unusable = { status: 400, body: { error: { code: "bad_request" } } };

describe("a move requested by a stranger who had registered another person's address", () => {
  /** An account of the address, made by a stranger, and the token of a move to an address of the stranger. */
  async function trap() {
    const { email, next, id, accessToken } = await person({ verified: false });
    return { email, next, id, token: await ask(next, accessToken) };
  }

  test("ends with the first proof of the address by its owner", async () => {
    const { email, next, id, token } = await trap();
    await post("verify/request", { email });
    expect((await post("verify", { token: await mailbox.secret(email, "verify") })).status).toBe(204);
    expect(await post("email/confirm", { token })).toMatchObject(unusable);
    expect(auth.users.get(id)).toMatchObject({ email, verified: true });
    expect(await login(next)).toBe(401);
  });

  test("ends when the operator makes an admin of the address, proven or not", async () => {
    for (const verified of [false, true]) {
      const { email, next, id, accessToken } = await person({ verified });
      const token = await ask(next, accessToken);
      expect(await auth.makeAdmin({ email, password: "another horse" })).toBe("promoted");
      expect(await post("email/confirm", { token })).toMatchObject(unusable);
      expect(auth.users.get(id)).toMatchObject({ email, role: "admin" });
    }
  });

  test("writes no text of the stranger to the owner", async () => {
    const { email, next } = await trap();
    const texts = (await mailbox.to(email)).map(({ text }) => text).join();
    expect(texts).toContain("A move of the account to another address was asked for.");
    expect(texts).not.toContain(next);
  });
});

describe("a move to another address", () => {
  test("counts from the proof of the new address, and the present address hears of the request and the move", async () => {
    const { email, next, id, accessToken } = await person({ verified: true });
    const token = await ask(next, accessToken);
    expect(auth.users.get(id)).toMatchObject({ email, verified: true });
    expect([await login(email), await login(next)]).toEqual([200, 401]);
    expect((await mailbox.to(email)).at(-1)?.text).toContain(`A move of the account to ${next} was asked for.`);
    expect((await mailbox.to(next)).at(-1)?.text).toContain(email);
    expect((await post("email/confirm", { token })).status).toBe(204);
    expect(auth.users.get(id)).toMatchObject({ email: next, verified: true });
    expect([await login(email), await login(next)]).toEqual([401, 200]);
    expect((await mailbox.to(email)).at(-1)?.text).toContain(`The account was moved to ${next}.`);
    expect(await post("email/confirm", { token })).toMatchObject(unusable);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(200);
  });

  test("ends the tokens that the former address has got", async () => {
    const { email, next, id, accessToken } = await person({ verified: true });
    await post("password/forgot", { email });
    const reset = await mailbox.secret(email, "reset");
    expect((await post("email/confirm", { token: await ask(next, accessToken) })).status).toBe(204);
    expect(await post("password/reset", { token: reset, password: "another password" })).toMatchObject(unusable);
    expect([await login(next), auth.users.get(id).email]).toEqual([200, next]);
  });

  test("of an unproven account is the first proof: without a shown credential, password and sessions end", async () => {
    const { next, id, accessToken } = await person({ verified: false });
    expect((await post("email/confirm", { token: await ask(next, accessToken) })).status).toBe(204);
    expect(auth.users.get(id)).toMatchObject({ email: next, verified: true });
    expect([await login(next), (await api.request("GET", "/api/auth/me", { token: accessToken })).status]).toEqual([
      401, 401,
    ]);
    const owner = await person({ verified: false });
    const token = await ask(owner.next, owner.accessToken);
    expect((await post("email/confirm", { token }, owner.accessToken)).status).toBe(204);
    expect(await login(owner.next)).toBe(200);
  });

  test("to a taken address gets the same response, sends nothing there, and works for no account", async () => {
    const taken = await person({ verified: true });
    const { email, accessToken } = await person({ verified: true });
    const before = await mailbox.kinds(taken.email);
    expect((await post("email", { email: taken.email, password }, accessToken)).status).toBe(202);
    expect(await mailbox.kinds(taken.email)).toEqual(before);
    expect((await mailbox.kinds(email)).at(-1)).toBe("notice");
  });

  test("fails with the message of every token if the address was taken meanwhile", async () => {
    const { email, next, id, accessToken } = await person({ verified: true });
    const token = await ask(next, accessToken);
    const { user } = await api.register(next);
    const answer = await post("email/confirm", { token }, accessToken);
    expect(answer).toMatchObject(unusable);
    expect(answer.body).toEqual((await post("email/confirm", { token: "x" })).body);
    expect([auth.users.get(id).email, auth.users.get(user.id).email]).toEqual([email, next]);
  });

  test("by two accounts at the same moment is granted to a single account", async () => {
    const [first, second] = [await person({ verified: true }), await person({ verified: true })];
    const tokens = [await ask(first.next, first.accessToken), await ask(first.next, second.accessToken)];
    const answers = await Promise.all(tokens.map((token) => post("email/confirm", { token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    const emails = [first, second].map(({ id }) => auth.users.get(id).email);
    expect(emails.filter((email) => email === first.next).length).toBe(1);
  });

  test("needs the password, and a later request ends the earlier token", async () => {
    const { email, next, id, accessToken } = await person({ verified: true });
    expect((await post("email", { email: next, password: "wrong password" }, accessToken)).status).toBe(403);
    expect((await post("email", { email: next }, accessToken)).body).toMatchObject({
      error: { details: [{ field: "password", rule: "required" }] },
    });
    expect((await post("email", { email, password }, accessToken)).status).toBe(400);
    expect((await post("email", { email: next, password })).status).toBe(401);
    expect(await mailbox.to(next)).toEqual([]);
    const earlier = await ask(next, accessToken);
    await ask(`later-${next}`, accessToken);
    expect(await post("email/confirm", { token: earlier })).toMatchObject(unusable);
    expect(auth.users.get(id).email).toBe(email);
  });

  test("ends with a change of the password, which may follow the note", async () => {
    const { email, next, id, accessToken } = await person({ verified: true });
    const token = await ask(next, accessToken);
    await post("password/forgot", { email });
    const reset = await mailbox.secret(email, "reset");
    expect((await post("password/reset", { token: reset, password: "another password" })).status).toBe(204);
    expect(await post("email/confirm", { token })).toMatchObject(unusable);
    expect(auth.users.get(id).email).toBe(email);
  });

  test("without a password needs a recent sign-in", async () => {
    const { next, id, accessToken } = await person({ verified: true });
    await database.transact((tx) => tx.run("UPDATE _users SET passwordHash = '' WHERE id = ?", id));
    expect((await post("email", { email: next }, accessToken)).status).toBe(202);
    setSystemTime(Date.now() + 11 * 60_000);
    const late = await post("email", { email: `late-${next}` }, accessToken);
    setSystemTime();
    expect(late.status).toBe(403);
    expect(late.body).toMatchObject({ error: { details: [{ rule: "recent_login" }] } });
  });

  test("made by the admin of the configuration makes no other user an admin", async () => {
    const boss = await api.register("boss@example.com");
    expect(boss.user.role).toBe("admin");
    const token = await ask("new-boss@example.com", boss.accessToken);
    expect((await post("email/confirm", { token }, boss.accessToken)).status).toBe(204);
    expect((await api.register("boss@example.com")).user.role).toBe("authenticated");
  });
});
