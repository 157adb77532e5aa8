/** Tests of `auth` in user code: sessions, passwords, deletions, mails and invitations; the caller in hooks of users. */
import { describe, expect, test } from "bun:test";
import { Mailbox } from "../../../test/mailbox.ts";
import { openScripts, type TestScripts } from "../../../test/scripts.ts";

const settings = { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://shop.example.com" };
const fields = [{ name: "team", type: "string" }];
const notes = {
  name: "notes",
  fields: [{ name: "by", type: "relation", collection: "users", owner: true, onDelete: "cascade" }],
};

/** An endpoint that does the code with the JSON of the request, and answers the value or the error. */
const endpoint = (code: string) => `
  export const access = "public";
  export const POST = async (request, { auth, db }) => {
    const { email, id, password } = await request.json();
    try {
      return Response.json({ value: (${code}) ?? null });
    } catch (thrown) {
      return Response.json({ code: thrown.code, details: thrown.details });
    }
  };`;

const files = {
  "endpoints/session.ts": endpoint("await auth.createSession(id)"),
  "endpoints/check.ts": endpoint("await auth.verifyPassword(id, password)"),
  "endpoints/delete.ts": endpoint("await auth.deleteUser(id)"),
  "endpoints/verification.ts": endpoint("await auth.sendVerification(id)"),
  "endpoints/reset.ts": endpoint("await auth.sendReset(id)"),
  "endpoints/invite.ts": endpoint('await auth.invite(email, { team: "red" })'),
  "endpoints/wrong.ts": endpoint('await auth.invite(email, { color: "red" })'),
};

async function open(more: { files?: Record<string, string>; settings?: Record<string, string> } = {}) {
  const api = await openScripts({
    collections: [{ name: "users", fields }, notes],
    files: { ...files, ...more.files },
    settings: { ...settings, ...more.settings },
  });
  const call = async (name: string, body: object): Promise<Record<string, unknown>> => {
    const { bytes } = await api.request("POST", `/api/function/${name}`, { body });
    return JSON.parse(new TextDecoder().decode(bytes));
  };
  return { ...api, call, mailbox: new Mailbox(api.service) };
}

async function statusOf(api: TestScripts, token: unknown): Promise<number> {
  return (await api.request("GET", "/api/auth/me", { token: String(token) })).status;
}

describe("auth in user code", () => {
  test("createSession signs a user in as a login does", async () => {
    const api = await open();
    const { user } = await api.register("ann@example.com");
    const { value } = await api.call("session", { id: user.id });
    expect(value).toMatchObject({ tokenType: "Bearer", user });
    expect(await statusOf(api, (value as { accessToken: string }).accessToken)).toBe(200);
    expect(await api.call("session", { id: "usr_none" })).toEqual({ code: "not_found" });
    const sql = "INSERT INTO _totp (userId, secret) VALUES (?, 'sealed')";
    await api.service.database.transact((tx) => tx.run(sql, user.id));
    const before = api.service.auth.users.sessions(user.id).length;
    expect((await api.call("session", { id: user.id }))["value"]).toMatchObject({ next: "second_factor" });
    expect(api.service.auth.users.sessions(user.id).length).toBe(before);
  });

  test("createSession needs a proven address if the configuration says so, asks hooks, and is closed to hooks", async () => {
    const refusing = `
      export const beforeLogin = async ({ record, auth, headers, caller }) => {
        if (record.email.startsWith("nested")) await auth.createSession(record.id);
        if (Object.keys(headers).length === 0) throw new Refusal("by code at " + caller.address);
      };`;
    const api = await open({ files: { "functions/users/a.ts": refusing } });
    const { user } = await api.register("ann@example.com");
    expect(await api.call("session", { id: user.id })).toEqual({ code: "bad_request" });
    expect(api.service.auth.users.sessions(user.id).length).toBe(1);
    await api.register("nested@example.com");
    const body = { email: "nested@example.com", password: "correct horse" };
    expect((await api.request("POST", "/api/auth/login", { body })).status).toBe(503);
    expect(api.log.join("\n")).toContain("a hook opens no session");
    const strict = await open({ settings: { SERVICE_AUTH_REQUIRE_VERIFIED: "true" } });
    await strict.request("POST", "/api/auth/register", { body });
    const unproven = strict.service.auth.users.findByEmail(body.email);
    expect(await strict.call("session", { id: unproven?.id })).toEqual({ code: "forbidden" });
  });

  test("verifyPassword distinguishes right and wrong, within bounds, and opens no session", async () => {
    const api = await open();
    const { user } = await api.register("ann@example.com");
    const check = (id: string, password: string) => api.call("check", { id, password });
    expect(await check(user.id, "correct horse")).toEqual({ value: true });
    expect(await check("usr_none", "correct horse")).toEqual({ value: false });
    for (let i = 0; i < 10; i++) expect(await check(user.id, "wrong password")).toEqual({ value: false });
    expect(await check(user.id, "correct horse")).toEqual({ code: "rate_limited" });
    expect((await api.login("ann@example.com")).user.id).toBe(user.id);
    expect(api.service.auth.users.sessions(user.id).length).toBe(2);
  });

  test("deleteUser deletes the user, with sessions and relations, and not the last admin", async () => {
    const api = await open();
    const { user, accessToken: token } = await api.register("ann@example.com");
    const note = await api.request("POST", "/api/notes", { body: {}, token });
    expect(note.status).toBe(201);
    expect(await api.call("delete", { id: user.id })).toEqual({ value: null });
    const [, notice, ...others] = await api.mailbox.to("ann@example.com");
    expect([notice?.kind, others]).toEqual(["notice", []]);
    expect(notice?.text).toContain("The account was deleted.\n\nThe change came from: the service\n");
    expect([await statusOf(api, token), api.service.auth.users.find(user.id)]).toEqual([401, null]);
    expect<unknown>((await api.request("GET", "/api/notes")).body).toEqual({ items: [] });
    expect(await api.call("delete", { id: user.id })).toEqual({ code: "not_found" });
    await api.admin();
    const admin = api.service.auth.users.findByEmail("admin@example.com");
    expect(await api.call("delete", { id: admin?.id })).toEqual({ code: "bad_request" });
    expect(await api.mailbox.kinds("admin@example.com")).toEqual([]);
  });

  test("sendVerification and sendReset mail links that work", async () => {
    const api = await open();
    const { user } = await api.register("ann@example.com");
    expect(await api.call("verification", { id: user.id })).toEqual({ value: null });
    const token = await api.mailbox.secret("ann@example.com", "verify");
    await api.request("POST", "/api/auth/verify", { body: { token } });
    expect(api.service.auth.users.get(user.id).verified).toBe(true);
    expect(await api.call("verification", { id: user.id })).toEqual({ value: null });
    expect(await api.call("reset", { id: user.id })).toEqual({ value: null });
    expect(await api.mailbox.kinds("ann@example.com")).toEqual(["verify", "verify", "notice", "reset"]);
    const reset = { token: await api.mailbox.secret("ann@example.com", "reset"), password: "another password" };
    expect((await api.request("POST", "/api/auth/password/reset", { body: reset })).status).toBe(204);
    expect(await api.call("reset", { id: "usr_none" })).toEqual({ code: "not_found" });
    const off = await open({ settings: { SERVICE_MAIL_FROM: "" } });
    const other = await off.register("ann@example.com");
    expect(await off.call("reset", { id: other.user.id })).toEqual({ code: "unavailable" });
  });

  test("invite mails an invitation with fields of the user", async () => {
    const api = await open();
    const email = "new@example.com";
    expect((await api.call("invite", { email }))["value"]).toMatchObject({ email, role: "authenticated" });
    const body = { token: await api.mailbox.secret(email, "invitation"), password: "correct horse" };
    const answer = await api.request("POST", "/api/auth/invitation", { body });
    expect(answer.body).toMatchObject({ user: { email, verified: true } });
    const token = String(answer.body["accessToken"]);
    expect((await api.request("GET", "/api/users", { token })).body).toMatchObject({ items: [{ team: "red" }] });
    expect(await api.call("invite", { email })).toEqual({ code: "conflict" });
    expect(await api.call("wrong", { email: "b@example.com" })).toMatchObject({
      code: "validation_error",
      details: [{ field: "color", rule: "unknown" }],
    });
    expect(await api.mailbox.to("b@example.com")).toEqual([]);
  });
});

test("hooks of users get the address and the headers of the request", async () => {
  const telling = `
    const tell = ({ caller, headers, record }) => {
      console.log("seen", JSON.stringify([caller, headers["x-test-address"], headers["user-agent"], record.email]));
    };
    export const beforeRegister = tell;
    export const beforeLogin = tell;`;
  const api = await open({ files: { "functions/users/a.ts": telling } });
  const body = { email: "ann@example.com", password: "correct horse" };
  const headers = { "x-test-address": "192.0.2.7", "User-Agent": "a test" };
  for (const path of ["register", "login"]) await api.request("POST", `/api/auth/${path}`, { body, headers });
  const seen = api.log.flatMap((line) => line.split("seen ")[1] ?? []).map((text) => JSON.parse(text) as unknown);
  const asked = [{ address: "192.0.2.7", user: null }, "192.0.2.7", "a test", "ann@example.com"];
  expect(seen).toEqual([asked, asked]);
});
