/** Tests of registrations with mail: the mail to a new user, and `auth.requireVerified`. */
import { describe, expect, test } from "bun:test";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { Mailbox } from "../../../test/mailbox.ts";

const mail = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example.com",
  SERVICE_LIMITS_RATE_MAIL: "off",
};
const required = { ...mail, SERVICE_AUTH_REQUIRE_VERIFIED: "true" };
const password = "correct horse";
const credentials = (email: string, given = password) => ({ body: { email, password: given } });

async function open(settings: Record<string, string>, collections: readonly object[] = []) {
  const api = await openApi({ settings, collections });
  const post = (path: string, options: { body: object; token?: string; headers?: Record<string, string> }) =>
    api.request("POST", `/api/auth/${path}`, options);
  return { ...api, post, mailbox: new Mailbox(api.service), users: api.service.auth.users };
}

describe("a registration with mail", () => {
  test("signs in, and mails a link that proves the address", async () => {
    const { post, mailbox, users } = await open(mail);
    const { status, body } = await post("register", credentials("new@example.com"));
    expect([status, body["user"]]).toMatchObject([201, { verified: false }]);
    const token = String(body["accessToken"]);
    const proof = { token: await mailbox.secret("new@example.com", "verify") };
    expect((await post("verify", { body: proof, token })).status).toBe(204);
    expect(users.findByEmail("new@example.com")?.verified).toBe(true);
    expect((await post("register", credentials("new@example.com"))).status).toBe(409);
    expect(await mailbox.kinds("new@example.com")).toEqual(["verify"]);
  });

  test("without publicUrl, or with a full outbox, registers without a mail and a line of the log", async () => {
    const { SERVICE_PUBLIC_URL: _, ...noLinks } = mail;
    const silent = await open(noLinks);
    expect((await silent.post("register", credentials("new@example.com"))).status).toBe(201);
    expect(await silent.mailbox.to("new@example.com")).toEqual([]);
    expect(silent.log.join("\n")).toContain("set publicUrl");
    const full = await open({ ...mail, SERVICE_MAIL_SMTP: "smtp://localhost:1", SERVICE_LIMITS_MAILS: "10" });
    for (let i = 0; i < 12; i++)
      expect((await full.post("register", credentials(`n${i}@example.com`))).status).toBe(201);
    expect(full.entries("A new user got no mail: the outbox is full").length).toBe(2);
  });
});

test("the mails to an address that somebody registers and deletes again and again are bounded", async () => {
  for (const isRequired of [false, true]) {
    const settings = {
      ...(isRequired ? required : mail),
      SERVICE_LIMITS_RATE_RECIPIENT: "8/h",
      SERVICE_LIMITS_RATE_REGISTER: "off",
    };
    const { post, mailbox, users, request, service } = await open(settings);
    for (let i = 0; i < 6; i++) {
      const { status, body } = await post("register", credentials("bombed@example.com"));
      expect(status).toBe(isRequired ? 202 : 201);
      const id = users.findByEmail("bombed@example.com")?.id ?? "";
      if (isRequired) await service.database.transact((tx) => users.delete(tx, id, null));
      else {
        const token = String(body["accessToken"]);
        expect((await request("DELETE", "/api/auth/me", { token, body: { password } })).status).toBe(204);
      }
    }
    const kinds = await mailbox.kinds("bombed@example.com");
    expect(kinds.filter((kind) => kind === "verify")).toHaveLength(2);
    expect(users.findByEmail("bombed@example.com")).toBeNull();
  }
});

describe("with a required proof", () => {
  test("a registration is 202 without tokens, and the login works after the proof", async () => {
    const { post, mailbox, users, service } = await open(required);
    const seq = await lastSeq(service);
    const answer = await post("register", credentials("new@example.com"));
    expect(answer).toMatchObject({ status: 202, body: { next: "verify" } });
    expect(Object.keys(answer.body)).toEqual(["next"]);
    const user = users.findByEmail("new@example.com");
    expect(users.sessions(user?.id ?? "")).toEqual([]);
    expect(await eventsSince(service, seq)).toEqual([
      { type: "auth.register", payload: { userId: user?.id, role: "authenticated" } },
    ]);
    const early = await post("login", credentials("new@example.com"));
    expect(early).toMatchObject({ status: 403, body: { error: { code: "forbidden" } } });
    expect((await post("login", credentials("new@example.com", "wrong password"))).status).toBe(401);
    const token = await mailbox.secret("new@example.com", "verify");
    expect((await post("verify", { body: { token, password } })).status).toBe(204);
    expect((await post("login", credentials("new@example.com"))).status).toBe(200);
  });

  test("a known address gets the same response, its owner a mail, and nothing changes", async () => {
    const { post, mailbox, users, service } = await open(required);
    const first = await post("register", credentials("ann@example.com"));
    const token = await mailbox.secret("ann@example.com", "verify");
    await post("verify", { body: { token, password } });
    const before = users.findByEmail("ann@example.com");
    const seq = await lastSeq(service);
    const again = await post("register", credentials(" ANN@example.com", "another password"));
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(await mailbox.kinds("ann@example.com")).toEqual(["verify", "taken"]);
    expect([users.findByEmail("ann@example.com"), await eventsSince(service, seq)]).toEqual([before, []]);
    expect((await post("login", credentials("ann@example.com"))).status).toBe(200);
    expect((await post("login", credentials("ann@example.com", "another password"))).status).toBe(401);
  });

  test("simultaneous registrations of an address make a single user", async () => {
    const { post, mailbox, service } = await open(required);
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, i) => post("register", credentials("race@example.com", `password ${i} of four`))),
    );
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(service.database.reader.all("SELECT 1 FROM _users").length).toBe(1);
    expect((await mailbox.kinds("race@example.com")).toSorted()).toEqual(["taken", "taken", "taken", "verify"]);
  });

  test("the mails to an owner whose address strangers register are bounded", async () => {
    const { post, mailbox } = await open({ ...required, SERVICE_LIMITS_RATE_RECIPIENT: "8/h" });
    for (let i = 0; i < 9; i++) expect((await post("register", credentials("bombed@example.com"))).status).toBe(202);
    expect(await mailbox.kinds("bombed@example.com")).toEqual(["verify", "taken"]);
  });

  test("a taken address is not revealed by the fields of users, either", async () => {
    const definition = { name: "users", fields: [{ name: "nick", type: "string", required: true, unique: true }] };
    const { post, users } = await open(required, [definition]);
    const form = (email: string, nick: string) => ({ body: { email, password, nick } });
    expect((await post("register", form("ann@example.com", "ann"))).status).toBe(202);
    for (const email of ["ann@example.com", "new@example.com"]) {
      const taken = await post("register", form(email, "ann"));
      expect(taken.body).toMatchObject({ error: { details: [{ field: "nick", rule: "unique" }] } });
      expect((await post("register", { body: { email, password } })).status).toBe(400);
    }
    expect((await post("register", form("ann@example.com", "other"))).status).toBe(202);
    expect((await post("register", form("new@example.com", "other"))).status).toBe(202);
    expect(users.findByEmail("new@example.com")).not.toBeNull();
  });

  test("an admin of the command line counts as proven", async () => {
    const { admin, request } = await open(required);
    expect((await request("GET", "/api/auth/me", { token: await admin() })).body).toMatchObject({
      user: { role: "admin", verified: true },
    });
  });

  test("without links is 503 for new and known addresses, and makes no user", async () => {
    const { SERVICE_PUBLIC_URL: _, ...noLinks } = required;
    const { post, admin, users } = await open(noLinks);
    await admin();
    for (const email of ["new@example.com", "admin@example.com"])
      expect((await post("register", credentials(email))).status).toBe(503);
    expect(users.findByEmail("new@example.com")).toBeNull();
  });

  test("without mail registers as before, and the log warns that addresses cannot be proven", async () => {
    const { post, log } = await open({ SERVICE_AUTH_REQUIRE_VERIFIED: "true" });
    expect((await post("register", credentials("new@example.com"))).status).toBe(201);
    expect((await post("register", credentials("new@example.com"))).status).toBe(409);
    expect((await post("login", credentials("new@example.com"))).status).toBe(403);
    expect(log.join("\n")).toContain("users cannot prove their addresses");
  });
});
