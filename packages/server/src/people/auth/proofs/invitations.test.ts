/** Tests of invitations: the account of an invitation, and invitations that must not work. */
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { eventsSince, lastSeq, openApi, setRole } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";

const settings = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example.com",
  SERVICE_AUTH_REGISTRATION: "false",
  SERVICE_AUTH_REQUIRE_VERIFIED: "true",
};
const fields = [
  { name: "team", type: "string", permissions: { update: "admin" } },
  { name: "nick", type: "string", unique: true },
];
const api = await openApi({ settings, collections: [{ name: "users", fields }] });
const { auth, database } = api.service;
const mailbox = new Mailbox(api.service);
const admin = await api.admin();
const password = "correct horse";

async function invite(body: object, token = admin) {
  return api.request("POST", "/api/admin/invitations", { body, token });
}

async function accept(token: string, given = password) {
  return api.request("POST", "/api/auth/invitation", { body: { token, password: given } });
}

const invalid = { status: 400, body: { error: { code: "bad_request" } } };

afterEach(() => setSystemTime());

describe("an invitation", () => {
  test("makes a proven account with role and fields, signs in, and works once", async () => {
    const email = "new@example.com";
    const answer = await invite({ email: " New@Example.com", role: "public", data: { team: "blue" } });
    expect(answer).toMatchObject({ status: 201, body: { email, role: "public", expiresAt: expect.any(String) } });
    expect(auth.users.findByEmail(email)).toBeNull();
    const token = await mailbox.secret(email, "invitation");
    expect(JSON.stringify(answer.body)).not.toContain(token);
    const seq = await lastSeq(api.service);
    const accepted = await accept(token);
    expect(accepted).toMatchObject({ status: 200, body: { user: { email, role: "public", verified: true } } });
    expect((await eventsSince(api.service, seq)).map(({ type }) => type)).toContain("auth.register");
    const signedIn = { token: String(accepted.body["accessToken"]) };
    expect((await api.request("GET", "/api/users", signedIn)).body).toMatchObject({ items: [{ team: "blue" }] });
    expect((await api.request("POST", "/api/auth/login", { body: { email, password } })).status).toBe(200);
    expect(await accept(token, "another password")).toMatchObject(invalid);
    expect(await mailbox.kinds(email)).toEqual(["invitation"]);
  });

  test("used twice at the same moment makes a single account", async () => {
    await invite({ email: "twice@example.com" });
    const token = await mailbox.secret("twice@example.com", "invitation");
    const answers = await Promise.all([accept(token), accept(token, "another password")]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBe(1);
    expect(statuses.some((status) => status === 400 || status === 409)).toBe(true);
  });

  test("that is newer ends the older invitation; an expired or cut invitation does not work", async () => {
    const email = "again@example.com";
    await invite({ email });
    const older = await mailbox.secret(email, "invitation");
    await invite({ email });
    const newer = await mailbox.secret(email, "invitation");
    for (const token of [older, newer.slice(1), `${newer}x`]) expect(await accept(token)).toMatchObject(invalid);
    for (const path of ["verify", "email/confirm"])
      expect(await api.request("POST", `/api/auth/${path}`, { body: { token: newer } })).toMatchObject(invalid);
    setSystemTime(Date.now() + 7 * 24 * 3_600_000 + 1);
    expect(await accept(newer)).toMatchObject(invalid);
    setSystemTime();
    expect((await accept(newer, "short")).body).toMatchObject({ error: { details: [{ field: "password" }] } });
    expect((await accept(newer)).status).toBe(200);
  });

  test("to the address of a user is refused, also if the user registered meanwhile", async () => {
    expect((await invite({ email: "admin@example.com" })).status).toBe(409);
    const email = "meanwhile@example.com";
    await invite({ email });
    const token = await mailbox.secret(email, "invitation");
    await database.transact((tx) => auth.users.create(tx, { email, passwordHash: "", role: "authenticated" }, null));
    expect((await accept(token)).status).toBe(409);
    expect(auth.users.findByEmail(email)?.verified).toBe(false);
  });

  test("to the role admin ends with the rights of the inviter", async () => {
    const boss = await database.transact((tx) =>
      auth.users.makeAdmin(tx, { email: "boss@example.com", passwordHash: "" }),
    );
    const inviter = { userId: boss.user.id, role: "admin", sessionId: "" } as const;
    const caller = { key: "test" };
    const prepared = await auth.proofs.invitations.prepare(
      { email: "heir@example.com", role: "admin" },
      inviter,
      caller,
    );
    await database.transact((tx) => prepared.write(tx));
    await setRole(api.service, boss.user.id, "authenticated");
    expect(await accept(await mailbox.secret("heir@example.com", "invitation"))).toMatchObject(invalid);
    expect(auth.users.findByEmail("heir@example.com")).toBeNull();
  });

  const bad: [string, object, string][] = [
    ["no address", {}, "email:required"],
    ["another text", { email: "nobody" }, "email:type"],
    ["data that is no object", { email: "a@example.com", data: [] }, "data:type"],
    ["data that is too large", { email: "a@example.com", data: { team: "x".repeat(17_000) } }, "data:max"],
    ["an unknown field", { email: "a@example.com", data: { color: "red" } }, "color:unknown"],
    ["a wrong type", { email: "a@example.com", data: { team: 5 } }, "team:type"],
  ];
  for (const [name, body, problem] of bad)
    test(`with ${name} is refused, and no mail is written`, async () => {
      const { status, body: answer } = await invite(body);
      const { details = [] } = answer["error"] as { details?: { field: string; rule: string }[] };
      expect([status, details.map(({ field, rule }) => `${field}:${rule}`)]).toEqual([400, [problem]]);
      expect(await mailbox.to("a@example.com")).toEqual([]);
    });

  test("with an unknown role or key, and by a caller without the role admin, is refused", async () => {
    expect((await invite({ email: "a@example.com", role: "king" })).status).toBe(400);
    expect((await invite({ email: "a@example.com", verified: true })).status).toBe(400);
    await invite({ email: "member@example.com" });
    const { body } = await accept(await mailbox.secret("member@example.com", "invitation"));
    expect((await invite({ email: "a@example.com" }, String(body["accessToken"]))).status).toBe(403);
    expect((await api.request("POST", "/api/admin/invitations", { body: {} })).status).toBe(401);
    expect(await mailbox.to("a@example.com")).toEqual([]);
  });
});

test("an invitation is in the audit, without the token", async () => {
  const seq = await lastSeq(api.service);
  await invite({ email: "audited@example.com" });
  const [event] = (await eventsSince(api.service, seq)).filter(({ type }) => type === "admin.user.invited");
  expect(event?.payload).toMatchObject({ target: "audited@example.com" });
  expect(JSON.stringify(event)).not.toContain(await mailbox.secret("audited@example.com", "invitation"));
});
