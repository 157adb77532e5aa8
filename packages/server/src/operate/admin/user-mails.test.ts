/** Mails to a user that an admin asks for: a link for a new password, and a link that proves the address. */
import { expect, test } from "bun:test";
import type { EventEntry, Page } from "@socle/protocol";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { Mailbox } from "../../../test/mailbox.ts";

const settings = { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://shop.example.com" };

async function audit(api: TestApi, token: string): Promise<string> {
  const { body } = await api.request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.*", { token });
  return JSON.stringify(body.items.map(({ type, actor, payload }) => [type, actor, payload]));
}

test("a reset: the user alone gets the link, which works once; the password stays until then", async () => {
  const api = await openApi({ settings });
  const mailbox = new Mailbox(api.service);
  const token = await api.admin();
  const { user, accessToken } = await api.register("ann@example.com");
  const answer = await api.request("POST", `/api/admin/users/${user.id}/reset`, { token });
  expect<unknown>([answer.status, answer.body]).toEqual([202, {}]);
  expect(await mailbox.kinds("admin@example.com")).not.toContain("reset");
  const secret = await mailbox.secret("ann@example.com", "reset");
  const events = await audit(api, token);
  expect(events).toContain(`["admin.user.reset",`);
  expect(events).toContain(user.id);
  expect(events).not.toContain(secret);
  expect((await api.request("GET", "/api/auth/me", { token: accessToken })).status).toBe(200);
  const reset = () =>
    api.request("POST", "/api/auth/password/reset", { body: { token: secret, password: "battery staple" } });
  expect((await reset()).status).toBe(204);
  expect((await reset()).status).toBe(400);
  const body = { email: "ann@example.com", password: "battery staple" };
  expect((await api.request("POST", "/api/auth/login", { body })).status).toBe(200);
});

test("a verification: the link proves the address; a proven address gets no second mail", async () => {
  const api = await openApi({ settings });
  const mailbox = new Mailbox(api.service);
  const token = await api.admin();
  const { user } = await api.register("bob@example.com");
  const send = () => api.request("POST", `/api/admin/users/${user.id}/verification`, { token });
  const verifications = async (): Promise<number> =>
    (await mailbox.kinds("bob@example.com")).filter((kind) => kind === "verify").length;
  const before = await verifications();
  expect((await send()).status).toBe(202);
  const secret = await mailbox.secret("bob@example.com", "verify");
  expect((await api.request("POST", "/api/auth/verify", { body: { token: secret } })).status).toBe(204);
  expect<unknown>((await api.request("GET", `/api/admin/users/${user.id}`, { token })).body).toMatchObject({
    verified: true,
  });
  const refused = await send();
  expect<unknown>([refused.status, refused.body["error"]?.["code"]]).toEqual([400, "bad_request"]);
  expect(await verifications()).toBe(before + 1);
  expect((await audit(api, token)).match(/admin\.user\.verification/g)).toHaveLength(1);
});

test("without mail, without an address of the service and without the user, nothing is written", async () => {
  for (const left of [{}, { SERVICE_MAIL_FROM: "shop@example.com" }]) {
    const api = await openApi({ settings: left });
    const token = await api.admin();
    const { user } = await api.register("eve@example.com");
    for (const noun of ["reset", "verification"]) {
      const { status, body } = await api.request("POST", `/api/admin/users/${user.id}/${noun}`, { token });
      expect<unknown>([status, body["error"]?.["code"]]).toEqual([503, "unavailable"]);
      expect((await api.request("POST", `/api/admin/users/usr_x/${noun}`, { token })).status).toBe(404);
    }
    expect(await new Mailbox(api.service).kinds("eve@example.com")).toEqual([]);
    expect(await audit(api, token)).not.toMatch(/user\.(reset|verification)/);
  }
});

test("a user, and a key of an admin, may not mail another user", async () => {
  const api = await openApi({ settings });
  const token = await api.admin();
  const { accessToken } = await api.register("mal@example.com");
  const { user } = await api.register("ann@example.com");
  const made = await api.request("POST", "/api/auth/keys", { token, body: { name: "all", scopes: ["admin"] } });
  const key = String(made.body["key"]);
  for (const noun of ["reset", "verification"])
    for (const [given, status] of [
      [undefined, 401],
      [accessToken, 403],
      [key, 403],
    ] as const) {
      const options = given === undefined ? {} : { token: given };
      expect((await api.request("POST", `/api/admin/users/${user.id}/${noun}`, options)).status).toBe(status);
    }
  const kinds = await new Mailbox(api.service).kinds("ann@example.com");
  expect(kinds).not.toContain("reset");
  // The registration has written the first mail.
  expect(kinds).toEqual(["verify"]);
});
