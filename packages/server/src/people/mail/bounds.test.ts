/** Bounds of the outbox: mails that wait, the share of the user's code, mails that are over, and mails that the code gives. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { outboxes } from "../../../test/outbox.ts";
import { SmtpSink } from "../../../test/smtp-sink.ts";
import { readMail, readMails } from "./index.ts";

const open = outboxes();

test("beyond limits.mails nothing is written; mails of the code have half of the bound", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = () => "hang";
  const { give, code, stored, mails } = await open({ smtp: sink.address, maxMails: 10 });
  for (let i = 0; i < 5; i++) await give(`news${i}@example.com`);
  await expect(give("news5@example.com")).rejects.toMatchObject({
    code: "unavailable",
    limit: "mails",
    message: "5 mails of your code wait to be sent, the half of limits.mails.",
  });
  for (let i = 0; i < 5; i++) await code(`ann${i}@example.com`);
  await expect(code("bob@example.com")).rejects.toMatchObject({ code: "unavailable", limit: "mails", retryAfter: 1 });
  expect(stored().length).toBe(10);
  expect(mails.totals().waiting).toBe(10);
});

test("finished mails are removed after mail.keep, and beyond the number of limits.mails; waiting mails stay", async () => {
  await using sink = await SmtpSink.start();
  const options = { smtp: sink.address, path: join(temporaryFolder(), "mails.db"), maxMails: 10, keepMs: 60_000 };
  const { give, settled, stop } = await open(options);
  for (let i = 0; i < 25; i++) {
    await give(`ann${i}@example.com`);
    await settled();
  }
  await stop();
  const second = await open(options);
  await sink.until(() => second.stored().length === 10);
  expect(second.stored().map(({ recipient }) => recipient)).toEqual(
    Array.from({ length: 10 }, (_, i) => `ann${i + 15}@example.com`),
  );
  sink.behave = () => "hang";
  await second.give("waits@example.com");
  await second.database.transact((tx) =>
    tx.run("UPDATE _mails SET endedAt = endedAt - 60001, createdAt = 0 WHERE seq % 2 = 0"),
  );
  await second.stop();
  const third = await open(options);
  await sink.until(() => third.stored().length === 6);
  expect(third.stored().map(({ recipient }) => recipient)).toEqual([
    ...[16, 18, 20, 22, 24].map((i) => `ann${i}@example.com`),
    "waits@example.com",
  ]);
});

test("a mail that the clock of another time has put off is due again", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step) => (step === "rcpt" ? "450 later" : undefined);
  const options = { smtp: sink.address, path: join(temporaryFolder(), "mails.db"), pauseFactor: 1 };
  const { give, stored, stop, database } = await open(options);
  await give("ann@example.com");
  await sink.until(() => stored()[0]?.attempts === 1);
  const year = 31_536_000_000;
  await database.transact((tx) => tx.run("UPDATE _mails SET notBefore = notBefore + ?, since = since + ?", year, year));
  sink.behave = () => undefined;
  await stop();
  await (await open(options)).settled();
  expect(sink.taken.length).toBe(1);
});

const mail = { to: "ann@example.com", subject: "Hello", text: "Hello\n" };

test("a mail of the code has an address in the stored form, and a subject of a single line", () => {
  expect(readMail({ ...mail, to: " Ａnn@Example.COM ", subject: " A\r\nBcc: eve@example.com\u2028x " })).toEqual({
    recipient: "ann@example.com",
    subject: "A Bcc: eve@example.com x",
    text: "Hello\n",
    html: null,
  });
  expect(readMails([mail, { ...mail, html: "<p>" }]).map(({ html }) => html)).toEqual([null, "<p>"]);
});

test.each<[value: unknown, message: RegExp]>([
  ["x", /A mail must be an object such as \{ to, subject, text \}, not "x"/],
  [{ ...mail, to: "ann" }, /"to" must be an email address, not "ann"/],
  [{ ...mail, to: ["ann@example.com"] }, /"to" must be an email address/],
  [{ ...mail, to: "ann@example.com\r\nBcc: eve@example.com" }, /"to" must be an email address/],
  [{ ...mail, to: "ann@example.com, eve@example.com" }, /"to" must be an email address/],
  [{ ...mail, to: "Ann <ann@example.com>" }, /"to" must be an email address/],
  [{ ...mail, subject: "" }, /"subject" of a mail must be a text that is not empty/],
  [{ ...mail, subject: "a\0b" }, /"subject" of a mail must be .* without NUL characters .* not "a\\u0000b"/],
  [{ ...mail, subject: "\r\n" }, /"subject" must have 1 to 250 characters; this one has 0/],
  [{ ...mail, subject: "x".repeat(251) }, /"subject" must have 1 to 250 characters; this one has 251/],
  [{ ...mail, text: undefined }, /"text" of a mail must be a text/],
  [{ ...mail, text: "\ud800" }, /"text" of a mail must be a text/],
  [{ ...mail, html: 5 }, /"html" of a mail must be a text/],
  [{ ...mail, text: "x".repeat(200_000), html: "é".repeat(50_000) }, /have 300000 bytes; at most 262144/],
  [{ ...mail, cc: "eve@example.com" }, /"cc" is no part of a mail; allowed: to, subject, text or html/],
])("%j is refused", (value, message) => {
  expect(() => readMail(value)).toThrow(message);
});
