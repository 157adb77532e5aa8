/** Tests of proofs: verification, reset, and tokens that must not work. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { openApi } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";

const settings = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example.com",
  SERVICE_LIMITS_RATE_MAIL: "off",
  SERVICE_LIMITS_RATE_RECIPIENT: "off",
  SERVICE_LIMITS_RATE_LOGIN: "off",
};
const api = await openApi({ settings });
const mailbox = new Mailbox(api.service);
const password = "correct horse";
const other = "battery staple";
let people = 0;

async function post(path: string, body: object, options: { token?: string; headers?: Record<string, string> } = {}) {
  return api.request("POST", `/api/auth/${path}`, { body, ...options });
}

/** A registered person with a session, whose address is not proven. */
async function person() {
  const email = `person-${people++}@example.com`;
  const { user, accessToken } = await api.register(email);
  return { email, id: user.id, accessToken };
}

async function tokenOf(purpose: "verify" | "reset", email: string): Promise<string> {
  const path = purpose === "verify" ? "verify/request" : "password/forgot";
  expect((await post(path, { email })).status).toBe(202);
  return mailbox.secret(email, purpose);
}

async function isVerified(id: string): Promise<boolean> {
  return api.service.auth.users.get(id).verified === true;
}

async function login(email: string, given: string): Promise<number> {
  return (await post("login", { email, password: given })).status;
}

const invalid = {
  status: 400,
  body: {
    error: { code: "bad_request", message: "The token or code is unknown, used or expired. Begin again." },
  },
};

afterEach(() => setSystemTime());

describe("verification", () => {
  test("by a token sent with the session keeps session and password", async () => {
    const { email, id, accessToken } = await person();
    const second = await api.login(email);
    const token = await tokenOf("verify", email);
    expect((await post("verify", { token }, { token: accessToken })).status).toBe(204);
    expect(await isVerified(id)).toBe(true);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).body).toMatchObject({
      user: { id, verified: true },
    });
    expect((await api.request("GET", "/api/auth/me", { token: second.accessToken })).status).toBe(401);
    expect(await login(email, password)).toBe(200);
  });

  test("by a token with the password keeps the password, and no session", async () => {
    const { email, id, accessToken } = await person();
    const token = await tokenOf("verify", email);
    const wrong = await post("verify", { token, password: other });
    expect([wrong.status, await isVerified(id)]).toEqual([403, false]);
    expect((await post("verify", { token, password })).status).toBe(204);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    expect([await isVerified(id), await login(email, password)]).toEqual([true, 200]);
  });

  test("by the token alone, or with the session of another user, removes password and sessions", async () => {
    const stranger = await person();
    for (const options of [{}, { token: stranger.accessToken }]) {
      const { email, id, accessToken } = await person();
      const token = await tokenOf("verify", email);
      expect((await post("verify", { token }, options)).status).toBe(204);
      expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
      expect([await isVerified(id), await login(email, password)]).toEqual([true, 401]);
    }
    expect(await isVerified(stranger.id)).toBe(false);
    expect((await api.request("GET", "/api/auth/me", { token: stranger.accessToken })).status).toBe(200);
  });

  test("is requested with the session, and not mailed again after the proof", async () => {
    const { email, accessToken } = await person();
    const options = { method: "POST", token: accessToken };
    const ask = () => api.request("POST", "/api/auth/verify/request", options);
    expect((await ask()).status).toBe(202);
    const token = await mailbox.secret(email, "verify");
    await post("verify", { token }, { token: accessToken });
    const before = await mailbox.kinds(email);
    expect([(await ask()).status, (await post("verify/request", { email })).status]).toEqual([202, 202]);
    expect(await mailbox.kinds(email)).toEqual(before);
  });
});

describe("a reset", () => {
  test("sets the password, ends all sessions, notifies the user, and opens no session", async () => {
    const { email, id, accessToken } = await person();
    await post("verify", { token: await tokenOf("verify", email) }, { token: accessToken });
    const token = await tokenOf("reset", email);
    const answer = await post("password/reset", { token, password: other });
    expect([answer.status, answer.bytes.byteLength]).toEqual([204, 0]);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
    expect([await login(email, password), await login(email, other)]).toEqual([401, 200]);
    expect((await mailbox.to(email)).at(-1)).toMatchObject({
      kind: "notice",
      text: expect.stringContaining("The password was set with a link from a mail."),
    });
    expect(await isVerified(id)).toBe(true);
  });

  test("is the first proof of an address, too: pre-hijacked sessions and password end", async () => {
    const { email, id, accessToken } = await person();
    const token = await tokenOf("reset", email);
    expect((await post("password/reset", { token, password: other })).status).toBe(204);
    expect([await isVerified(id), await login(email, password), await login(email, other)]).toEqual([true, 401, 200]);
    expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(401);
  });

  test("with a password that is not allowed leaves the token", async () => {
    const { email } = await person();
    const token = await tokenOf("reset", email);
    const short = await post("password/reset", { token, password: "short" });
    expect(short.status).toBe(400);
    expect(short.body).toMatchObject({ error: { details: [{ field: "password", rule: "min" }] } });
    expect((await post("password/reset", { token, password: other })).status).toBe(204);
  });

  test("ends the other tokens of the user that could set a password", async () => {
    const { email } = await person();
    const first = await tokenOf("reset", email);
    const second = await tokenOf("reset", email);
    expect((await post("password/reset", { token: second, password: other })).status).toBe(204);
    expect(await post("password/reset", { token: first, password })).toMatchObject(invalid);
    expect(await login(email, other)).toBe(200);
  });
});

describe("a token", () => {
  test("works once, also for two uses at the same moment", async () => {
    const { email } = await person();
    const token = await tokenOf("reset", email);
    const passwords = ["first password", "second password"];
    const answers = await Promise.all(passwords.map((given) => post("password/reset", { token, password: given })));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
    expect(answers.find(({ status }) => status === 400)).toMatchObject(invalid);
    const logins = await Promise.all(passwords.map((given) => login(email, given)));
    expect(logins.map((status) => status === 200)).toEqual(answers.map(({ status }) => status === 204));
    expect(await post("password/reset", { token, password: "third password" })).toMatchObject(invalid);
  });

  test("that is unknown, cut, longer, of another purpose or in other letters does not work, with the same message", async () => {
    const { email, id } = await person();
    const reset = await tokenOf("reset", email);
    const verify = await tokenOf("verify", email);
    const attempt = String((await post("login", { email, password })).body["refreshToken"]);
    const bad = ["x", reset.slice(0, -1), `${reset}A`, reset.toUpperCase(), verify, attempt, `reset\u0001${reset}`];
    for (const token of bad) expect(await post("password/reset", { token, password: other })).toMatchObject(invalid);
    for (const token of [reset, verify.slice(1)]) {
      expect(await post("verify", { token })).toMatchObject(invalid);
      expect(await post("email/confirm", { token })).toMatchObject(invalid);
    }
    expect(await post("email/confirm", { token: verify })).toMatchObject(invalid);
    expect([await isVerified(id), await login(email, password)]).toEqual([false, 200]);
    expect((await post("password/reset", { token: reset, password: other })).status).toBe(204);
  });

  test("ends after the lifetime, and the sweep removes the row", async () => {
    const { email } = await person();
    const verify = await tokenOf("verify", email);
    const reset = await tokenOf("reset", email);
    const start = Date.now();
    setSystemTime(start + 3_600_001);
    expect(await post("password/reset", { token: reset, password: other })).toMatchObject(invalid);
    setSystemTime(start + 24 * 3_600_000 - 60_000);
    await api.service.auth.sweep();
    expect((await post("verify", { token: verify })).status).toBe(204);
    setSystemTime();
    const late = await tokenOf("reset", email);
    setSystemTime(Date.now() + 3_600_001);
    await api.service.auth.sweep();
    const { reader } = api.service.database;
    expect(reader.get<{ n: number }>("SELECT count(*) AS n FROM _proofs WHERE email = ?", email)).toEqual({ n: 0 });
    expect(await post("password/reset", { token: late, password: other })).toMatchObject(invalid);
  });

  test("is not in the database, and three of a purpose work at a time", async () => {
    const { email } = await person();
    const tokens = [];
    for (let i = 0; i < 4; i++) tokens.push(await tokenOf("verify", email));
    const { reader } = api.service.database;
    const rows = reader.all<{ hash: string }>("SELECT hash FROM _proofs WHERE email = ?", email);
    expect(rows.length).toBe(3);
    for (const { hash } of rows) expect(tokens).not.toContain(hash);
    expect(await post("verify", { token: tokens[0] ?? "" })).toMatchObject(invalid);
    expect((await post("verify", { token: tokens[1] ?? "" })).status).toBe(204);
  });

  test("of a deleted user does not work for the next user of the address", async () => {
    const { email, id } = await person();
    const token = await tokenOf("verify", email);
    await api.service.database.transact((tx) => api.service.auth.users.delete(tx, id, null));
    const next = await api.register(email);
    expect(await post("verify", { token })).toMatchObject(invalid);
    expect(await isVerified(next.user.id)).toBe(false);
  });

  test("that is missing or no text is reported by its field", async () => {
    const answer = await post("password/reset", { token: 7, password: other });
    expect(answer.body).toMatchObject({
      error: { code: "validation_error", details: [{ field: "token", rule: "type" }] },
    });
    expect((await post("verify", {})).body).toMatchObject({
      error: { details: [{ field: "token", rule: "required" }] },
    });
  });
});

describe("a request for a mail", () => {
  test("gets the same response for a known and an unknown address, and no mail goes to the unknown address", async () => {
    const { email } = await person();
    for (const path of ["password/forgot", "verify/request"]) {
      const [known, unknown] = [await post(path, { email }), await post(path, { email: "nobody@example.com" })];
      expect([unknown.status, unknown.body]).toEqual([202, known.body]);
    }
    expect(await mailbox.to("nobody@example.com")).toEqual([]);
    expect(await mailbox.kinds(email)).toEqual(["verify", "reset", "verify"]);
  });

  test("finds the user by the stored form of the address", async () => {
    const { email } = await person();
    await post("password/forgot", { email: ` ${email.toUpperCase().replace("P", "Ｐ")} ` });
    expect(await mailbox.kinds(email)).toEqual(["verify", "reset"]);
    for (const bad of ["a＠b@c", `x\r\nBcc: e@example.com`, "a b@example.com", "", 5])
      expect((await post("password/forgot", { email: bad })).status).toBe(400);
  });

  test("makes links from publicUrl, whatever the Host header is", async () => {
    const { email } = await person();
    await post("password/forgot", { email }, { headers: { Host: "evil.example", "X-Forwarded-Host": "evil.example" } });
    const mail = (await mailbox.to(email)).at(-1);
    expect(mail?.text).toContain("https://shop.example.com/_/auth/reset?token=");
    expect(mail?.text).not.toContain("evil");
  });

  test("is 503 when mail is off, and without publicUrl, for known and unknown addresses", async () => {
    const { SERVICE_MAIL_FROM, SERVICE_PUBLIC_URL, ...others } = settings;
    for (const missing of [{ SERVICE_MAIL_FROM }, { SERVICE_PUBLIC_URL }]) {
      const service = await openApi({ settings: { ...others, ...missing } });
      await service.register("known@example.com");
      for (const email of ["known@example.com", "unknown@example.com"]) {
        const answer = await service.request("POST", "/api/auth/password/forgot", { body: { email } });
        expect([answer.status, service.service.database.reader.all("SELECT 1 FROM _proofs")]).toEqual([503, []]);
      }
      expect(service.log.join("\n")).toContain("SERVICE_PUBLIC_URL" in missing ? "mail.from" : "publicUrl");
    }
  });
});
