/** The sending of mails in the admin API: the settings and a test mail, without secrets; mails by recipient. */
import { expect, test } from "bun:test";
import type { EventEntry, MailEntry, MailSettings, MailTest, Page } from "@socle/protocol";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { headerOf, SmtpSink } from "../../../test/smtp-sink.ts";

const from = "The Shop <shop@example.com>";
/** Some servers take the same token as user and password. */
const login = { user: "hush-token", password: "hush-token" };

async function tested(api: TestApi, token: string): Promise<unknown[]> {
  const { body } = await api.request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.mail.*", { token });
  return body.items.map(({ type, payload }) => [type, payload["target"]]);
}

test("the settings name the server without user and password", async () => {
  await using sink = await SmtpSink.start({ login });
  const settings = {
    SERVICE_MAIL_FROM: from,
    SERVICE_MAIL_SMTP: sink.address,
    SERVICE_PUBLIC_URL: "https://a.example",
  };
  const api = await openApi({ settings });
  const token = await api.admin();
  const { body, status } = await api.request<MailSettings>("GET", "/api/admin/mails/settings", { token });
  expect([status, body]).toEqual([
    200,
    { from, server: `smtp://127.0.0.1:${sink.port}`, publicUrl: "https://a.example", waiting: 0, sent: 0, failed: 0 },
  ]);
  const off = await openApi({});
  const none = await off.request<MailSettings>("GET", "/api/admin/mails/settings", { token: await off.admin() });
  expect(none.body).toMatchObject({ from: null, server: null, publicUrl: null });
});

test("a test mail reports the outcome of the server, leaves the outbox alone, and is in the audit", async () => {
  await using sink = await SmtpSink.start({ login });
  const api = await openApi({ settings: { SERVICE_MAIL_FROM: from, SERVICE_MAIL_SMTP: sink.address } });
  const token = await api.admin();
  const send = (body: object = { to: "Me@Example.com" }) =>
    api.request<MailTest>("POST", "/api/admin/mails/test", { token, body });
  const good = await send();
  expect([good.status, good.body]).toEqual([200, { isTaken: true, answer: "250 taken" }]);
  expect(sink.taken.map((mail) => [mail.to, headerOf(mail, "Subject")])).toEqual([
    ["me@example.com", "A test of the mails of The Shop"],
  ]);

  sink.behave = (step) => (step === "rcpt" ? "550 no such user" : undefined);
  const refused = await send();
  expect(refused.status).toBe(200);
  expect(refused.body).toMatchObject({ isTaken: false, answer: expect.stringContaining("550 no such user") });

  // A second test waits for the first: an admin cannot open many connections.
  sink.behave = (step) => (step === "rcpt" ? "hang" : undefined);
  const before = sink.connections;
  const first = send();
  await sink.until(({ connections }) => connections > before);
  expect((await send()).status).toBe(409);
  await sink[Symbol.asyncDispose]();
  expect((await first).body.isTaken).toBe(false);
  const unreachable = await send();
  expect([unreachable.body.isTaken, unreachable.body.answer]).toEqual([false, expect.stringContaining("ECONNREFUSED")]);

  for (const body of [
    {},
    { to: "nobody" },
    { to: "a@b.example\r\nBcc: c@d.example" },
    { to: "a@b.example", from: "x" },
  ])
    expect((await send(body)).status).toBe(400);
  expect(sink.taken).toHaveLength(1);
  expect(await tested(api, token)).toEqual(Array(5).fill(["admin.mail.tested", "me@example.com"]));
  const { body: page } = await api.request<Page<MailEntry>>("GET", "/api/admin/mails", { token });
  expect(page.total).toBe(0);
  const answers = [good.body, refused.body, unreachable.body, await tested(api, token), api.log];
  expect(JSON.stringify(answers)).not.toContain("hush");
});

test("without a server a test mail is refused, without an entry in the audit; for admins only", async () => {
  const api = await openApi({ settings: { SERVICE_MAIL_FROM: from } });
  const token = await api.admin();
  const body = { to: "me@example.com" };
  const refused = await api.request("POST", "/api/admin/mails/test", { token, body });
  expect<unknown>([refused.status, refused.body["error"]?.["message"]]).toEqual([
    400,
    "No mail can be sent: mail.from or mail.smtp is not set.",
  ]);
  expect(await tested(api, token)).toEqual([]);
  const { accessToken } = await api.register("ann@example.com");
  const made = await api.request("POST", "/api/auth/keys", { token, body: { name: "all", scopes: ["admin"] } });
  for (const [given, status] of [
    [accessToken, 403],
    [String(made.body["key"]), 403],
    ["nonsense", 401],
  ] as const) {
    expect((await api.request("POST", "/api/admin/mails/test", { token: given, body })).status).toBe(status);
    expect((await api.request("GET", "/api/admin/mails/settings", { token: given })).status).toBe(status);
  }
});

test("mails by recipient: the whole address, or a part", async () => {
  const api = await openApi({ settings: { SERVICE_MAIL_FROM: from } });
  const token = await api.admin();
  const { mails, database } = api.service;
  await database.transact((tx) => {
    for (const to of ["ann@example.com", "joann@example.com", "bob@example.com"])
      mails.addGiven(tx, { recipient: to, subject: "News", text: "News\n", html: null });
  });
  const found = async (query: string): Promise<unknown> => {
    const { body } = await api.request<Page<MailEntry>>("GET", `/api/admin/mails?${query}`, { token });
    return [body.items.map(({ to }) => to), body.total];
  };
  expect(await found("to=Ann@Example.com")).toEqual([["ann@example.com"], 1]);
  expect(await found("search=ANN@")).toEqual([["joann@example.com", "ann@example.com"], 2]);
  expect(await found("search=ann@&limit=1&offset=1&status=kept")).toEqual([["ann@example.com"], 2]);
  expect(await found("to=ann@example.com&status=sent")).toEqual([[], 0]);
  expect(await found("search=%25")).toEqual([[], 0]);
  expect((await api.request("GET", "/api/admin/mails?to=ann", { token })).status).toBe(400);
});
