/** TLS and sign-in towards the SMTP server: no mail leaves this machine in the open, or to a server that nobody has proved. */
import { expect, test } from "bun:test";
import { newCertificate } from "../../../test/certificates.ts";
import { outboxes } from "../../../test/outbox.ts";
import { SmtpSink } from "../../../test/smtp-sink.ts";
import { Secret } from "../../base/kernel/index.ts";
import { sendTestMail } from "./mails.ts";

const open = outboxes();
const certificate = await newCertificate("sink.example");
/** An address that leads to this machine, and is none of the loopback addresses that need no TLS. */
const elsewhere = "0.0.0.0";

test.each([
  ["STARTTLS", false],
  ["TLS from the beginning", true],
])("%s on a loopback address encrypts, also with an untrusted certificate", async (_name, isSecure) => {
  await using sink = await SmtpSink.start({ certificate, isSecure });
  const { code, settled } = await open({ smtp: sink.address });
  await code("ann@example.com");
  await settled();
  expect(sink.taken.map(({ to, isEncrypted }) => [to, isEncrypted])).toEqual([["ann@example.com", true]]);
  expect(sink.commands.filter((line) => line === "STARTTLS").length).toBe(isSecure ? 0 : 1);
});

test.each([
  ["without STARTTLS", {}, "STARTTLS"],
  ["with STARTTLS and a certificate of its own", { certificate }, /certificate|self.signed/i],
  ["with TLS and a certificate of its own", { certificate, isSecure: true }, /certificate|self.signed/i],
])("another host %s gets no mail and no password", async (_name, options, error) => {
  await using sink = await SmtpSink.start({ ...options, login: { user: "shop", password: "hush hush" } });
  const { code, stored } = await open({ smtp: sink.address.replace("127.0.0.1", elsewhere) });
  await code("ann@example.com");
  await sink.until(() => stored().some(({ status, attempts }) => status !== "waiting" || attempts >= 2));
  expect(stored()[0]).toMatchObject({ status: "waiting", error: expect.stringMatching(error) });
  expect(sink.taken).toEqual([]);
  expect(sink.commands.filter((line) => /^(AUTH|MAIL|RCPT|DATA)/.test(line))).toEqual([]);
});

test.each([
  [
    "smtps:// with a port for STARTTLS",
    false,
    /WRONG_VERSION_NUMBER\. mail\.smtp has smtps:\/\/ and the port (\d+), .* write smtp:\/\//,
  ],
  [
    "smtp:// with a port for TLS",
    true,
    /^Greeting never received\. mail\.smtp has smtp:\/\/ and the port (\d+): .* write smtps:\/\//,
  ],
])(
  "%s: the failed mail and the test mail name the scheme, the port and the remedy",
  async (_name, isSecure, message) => {
    await using sink = await SmtpSink.start({ certificate, isSecure, login: { user: "shop", password: "hush hush" } });
    const smtp = sink.address.replace(/^smtps?/, isSecure ? "smtp" : "smtps");
    const { code, stored } = await open({ smtp, connectMs: 300 });
    await code("ann@example.com");
    await sink.until(() => stored().some(({ attempts }) => attempts >= 1));
    expect(stored()[0]).toMatchObject({ status: "waiting", error: expect.stringMatching(message) });
    expect(message.exec(stored()[0]?.error ?? "")?.[1]).toBe(String(sink.port));
    const settings = { "mail.from": "shop@example.com", "mail.smtp": new Secret(smtp) };
    const timeouts = { connect: 300, silence: 60_000, mail: 60_000 };
    const tested = await sendTestMail(settings, "ann@example.com", { timeouts }).catch((thrown: unknown) => thrown);
    expect(String(tested)).toMatch(new RegExp(message.source.replace("^", "")));
    expect(JSON.stringify([stored()[0]?.error, String(tested)])).not.toContain("hush");
    expect(sink.taken).toEqual([]);
  },
);

test("a failure with another cause names no other scheme", async () => {
  await using sink = await SmtpSink.start({ certificate });
  sink.behave = (step) => (step === "ehlo" ? "break" : undefined);
  const { code, stored } = await open({ smtp: sink.address });
  await code("ann@example.com");
  await sink.until(() => stored().some(({ attempts }) => attempts >= 1));
  expect(stored()[0]?.error).not.toContain("mail.smtp");
});

test("the user and the password of the address sign in; a wrong password is tried again, and no response shows the password", async () => {
  const login = { user: "shop@example.com", password: "p@ss/w:rd %" };
  await using sink = await SmtpSink.start({ certificate, login });
  const { give, settled } = await open({ smtp: sink.address });
  await give("ann@example.com");
  await settled();
  expect(sink.taken.map(({ user }) => user)).toEqual(["shop@example.com"]);

  const wrong = await open({ smtp: sink.address.replace("p%40ss", "another") });
  for (let i = 0; i < 20; i++) await wrong.give(`bob${i}@example.com`);
  await sink.until(() => wrong.stored().some(({ attempts }) => attempts >= 2));
  expect(wrong.stored().map(({ status }) => status)).toEqual(Array(20).fill("waiting"));
  expect(wrong.stored().find(({ error }) => error !== null)?.error).toContain("535 5.7.8 wrong password");
  expect(JSON.stringify([wrong.stored(), wrong.log])).not.toMatch(/another|ss\/w/);
  expect(sink.taken.length).toBe(1);
});

test("while the server is away, mails wait without attempts of their own, and fail after a day", async () => {
  const gone = await SmtpSink.start();
  const { address } = gone;
  await gone[Symbol.asyncDispose]();
  const { give, stored, database, settled, log } = await open({ smtp: address, pauseFactor: 0.1 });
  for (let i = 0; i < 50; i++) await give(`ann${i}@example.com`);
  await gone.until(() => stored().some(({ attempts }) => attempts > 0));
  // Eight are tried at a time, at most once in the pause.
  expect(stored().filter(({ attempts }) => attempts > 0).length).toBeLessThan(25);
  await database.transact((tx) => tx.run("UPDATE _mails SET since = since - 90000000"));
  await settled();
  expect(stored().map(({ status }) => status)).toEqual(Array(50).fill("failed"));
  expect(stored()[49]?.error).toContain("ECONNREFUSED");
  await gone.until(() =>
    log.some((line) => /^WARN After a day without the SMTP server, \d+ more mails? failed$/.test(line)),
  );
});
