/** The outbox in the admin API: without links and codes where mails are sent, whole where they are not, and who read a mail. */
import { expect, test } from "bun:test";
import type { EventEntry, MailDetail, MailEntry, Page } from "@socle/protocol";
import { openApi, type TestApi } from "../../../test/kit.ts";
import { SmtpSink } from "../../../test/smtp-sink.ts";

const base = { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_PUBLIC_URL: "https://shop.example.com" };
const link = "https://shop.example.com/_/auth/reset?token=hush&x='1'";

/** Writes a code, a link and a mail of the code into the outbox. */
async function write({ service }: TestApi): Promise<void> {
  const { mails, database } = service;
  await database.transact((tx) => {
    mails.add(tx, { kind: "code", to: "ann@example.com", values: { code: "424242" }, urgent: true });
    mails.add(tx, { kind: "reset", to: "bob@example.com", values: { link } });
    mails.addGiven(tx, { recipient: "eve@example.com", subject: "News", text: "News\n", html: null });
  });
}

async function list(api: TestApi, token: string, query = ""): Promise<Page<MailEntry>> {
  return (await api.request<Page<MailEntry>>("GET", `/api/admin/mails${query}`, { token })).body;
}

async function audit(api: TestApi, token: string): Promise<unknown[]> {
  const { body } = await api.request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.mail.*", { token });
  return body.items.map(({ type, payload }) => [type, payload["target"]]);
}

test("without SMTP the outbox is the mailbox: an admin reads everything, and the log that admins read has neither links nor codes", async () => {
  const api = await openApi({ settings: base });
  const token = await api.admin();
  await write(api);
  const { items, total } = await list(api, token);
  expect([total, items.map(({ kind, to, status, dueAt }) => [kind, to, status, dueAt])]).toEqual([
    3,
    [
      ["custom", "eve@example.com", "kept", null],
      ["reset", "bob@example.com", "kept", null],
      ["code", "ann@example.com", "kept", null],
    ],
  ]);
  const [, reset] = items;
  const { body } = await api.request<MailDetail>("GET", `/api/admin/mails/${reset?.id}`, { token });
  expect(body.text).toContain(link);
  expect(body.html).toContain("token=hush&amp;x=&#39;1&#39;");
  expect(await audit(api, token)).toEqual([["admin.mail.read", reset?.id]]);
  // The log that admins and API keys read has no links and codes; standard output has (see the tests of logging).
  const read = await api.request("GET", "/api/admin/logs?limit=1000", { token });
  expect(JSON.stringify(read.body)).toContain("A mail to bob@example.com: Set a new password");
  expect(JSON.stringify(read.body)).not.toMatch(/token=hush|424242/);
  const retried = await api.request("POST", `/api/admin/mails/${reset?.id}/retry`, { token });
  expect([retried.status, retried.body["error"]?.["message"]]).toEqual([
    400,
    "No mail can be sent: mail.from or mail.smtp is not set." as never,
  ]);
});

test("with SMTP no admin sees a link or a code: of mails that wait, have failed, or were sent", async () => {
  await using sink = await SmtpSink.start();
  const api = await openApi({ settings: { ...base, SERVICE_MAIL_SMTP: sink.address } });
  const token = await api.admin();
  await write(api);
  const answers: unknown[] = [];
  const look = async (): Promise<MailEntry[]> => {
    const page = await list(api, token);
    answers.push(page);
    for (const { id } of page.items) {
      const { body } = await api.request<MailDetail>("GET", `/api/admin/mails/${id}`, { token });
      expect(body.messageId).toBe(`<${id}@example.com>`);
      if (body.kind !== "custom") expect([body.text, body.html].join()).toMatch(/\[removed\][\s\S]*\[removed\]/);
      answers.push(body);
    }
    return page.items;
  };
  expect((await look()).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["waiting", 0]));
  sink.behave = (step, text) => (step === "rcpt" && /bob/.test(text) ? "550 no such user" : undefined);
  api.service.mails.start(new AbortController().signal);
  await sink.until(() => api.service.mails.totals().sent === 2 && api.service.mails.totals().failed === 1);
  const [news, reset, code] = await look();
  expect([news?.status, reset?.status, code?.status]).toEqual(["sent", "failed", "sent"]);
  expect(reset).toMatchObject({ attempts: 1, error: expect.stringContaining("550 no such user") });
  expect(await list(api, token, "?status=failed")).toMatchObject({ total: 1, items: [{ id: reset?.id ?? "" }] });

  const metrics = new TextDecoder().decode((await api.request("GET", "/metrics", { token })).bytes);
  for (const line of ["socle_mails_waiting 0", "socle_mails_sent_total 2", "socle_mails_failed_total 1"])
    expect(metrics).toContain(`${line}\n`);

  sink.behave = () => undefined;
  const again = await api.request<MailEntry>("POST", `/api/admin/mails/${reset?.id}/retry`, { token });
  expect([again.status, again.body.status, again.body.attempts]).toEqual([202, "waiting", 0]);
  await sink.until(() => sink.taken.length === 3);
  await sink.until(() => api.service.mails.totals().sent === 3);
  const refused = await api.request("POST", `/api/admin/mails/${reset?.id}/retry`, { token });
  expect(refused.status).toBe(400);
  await look();
  expect(JSON.stringify(answers)).not.toMatch(/hush|424242/);
  expect(JSON.stringify(api.log)).not.toMatch(/hush|424242/);
  // Three looks at three mails, and a retry.
  expect((await audit(api, token)).length).toBe(10);
  await api.service.mails.stop(0);
});

test("the outbox is for admins only; unknown mails and statuses are refused", async () => {
  const api = await openApi({ settings: base });
  const token = await api.admin();
  const { accessToken } = await api.register("ann@example.com");
  for (const path of ["", "/mai_x"]) {
    expect((await api.request("GET", `/api/admin/mails${path}`, { token: accessToken })).status).toBe(403);
    expect((await api.request("GET", `/api/admin/mails${path}`)).status).toBe(401);
  }
  expect((await api.request("GET", "/api/admin/mails/mai_x", { token })).status).toBe(404);
  expect((await api.request("POST", "/api/admin/mails/mai_x/retry", { token })).status).toBe(404);
  expect((await api.request("GET", "/api/admin/mails?status=lost", { token })).status).toBe(400);
});
