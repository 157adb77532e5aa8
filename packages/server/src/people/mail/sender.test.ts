/** Sending: each mail once after its 250, whatever the server does; urgent mails first; a mail that hangs holds up no other. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../../../test/kit.ts";
import { outboxes } from "../../../test/outbox.ts";
import { bodyOf, headerOf, SmtpSink, type SmtpStep } from "../../../test/smtp-sink.ts";

const open = outboxes();

test("a mail arrives with its texts and a steady Message-ID, and loses the code in the outbox", async () => {
  await using sink = await SmtpSink.start();
  const { code, stored, settled } = await open({ smtp: sink.address });
  await code("ann@example.com", "424242");
  await settled();
  const [mail, ...others] = sink.taken;
  expect(others).toEqual([]);
  if (mail === undefined) throw new Error("No mail has arrived");
  expect(mail).toMatchObject({ from: "shop@example.com", to: "ann@example.com", isEncrypted: false });
  expect(headerOf(mail, "Subject")).toBe("Your code for The Shop");
  expect(headerOf(mail, "From")).toBe("The Shop <shop@example.com>");
  expect(headerOf(mail, "To")).toBe("ann@example.com");
  expect(headerOf(mail, "Auto-Submitted")).toBe("auto-generated");
  expect(bodyOf(mail)).toContain("\n424242\n");
  expect(bodyOf(mail, "text/html")).toContain("<strong>424242</strong>");
  const [row] = stored();
  expect(headerOf(mail, "Message-ID")).toBe(row?.messageId ?? "");
  expect(row).toMatchObject({ status: "sent", attempts: 1, secrets: "{}", error: null });
  expect(row?.text).toContain("\n[removed]\n");
  expect(JSON.stringify(row)).not.toContain("424242");
});

test("a name in quotation marks and domains beyond ASCII: every header and the envelope are ASCII", async () => {
  await using sink = await SmtpSink.start();
  const { give, settled } = await open({ smtp: sink.address, from: '"Läden, \\"The\\" Shop" <shop@dömäin.example>' });
  await give("info@faß.de");
  await settled();
  const [mail] = sink.taken;
  if (mail === undefined) throw new Error("No mail has arrived");
  expect(mail).toMatchObject({ from: "shop@xn--dmin-moa0i.example", to: "info@xn--fa-hia.de" });
  expect(headerOf(mail, "Message-ID")).toMatch(/^<mai_[\w-]+@xn--dmin-moa0i\.example>$/);
  expect(headerOf(mail, "From")).toEndWith(" <shop@xn--dmin-moa0i.example>");
  expect(headerOf(mail, "To")).toBe("info@xn--fa-hia.de");
  const head = mail.data.slice(0, mail.data.search(/\r?\n\r?\n/));
  expect(head).toMatch(/^\p{ASCII}*$/u);
});

const broken: [name: string, step: SmtpStep, answer: string][] = [
  ["refuses the connection for a moment", "connect", "421 busy"],
  ["is broken at the greeting", "connect", "554 no service"],
  ["breaks at the greeting", "connect", "break"],
  ["breaks at EHLO", "ehlo", "break"],
  ["refuses the sender", "mail", "550 5.7.1 sender is not yours"],
  ["breaks at MAIL", "mail", "break"],
  ["refuses the recipient for a moment", "rcpt", "450 4.2.0 greylisted"],
  ["breaks at RCPT", "rcpt", "break"],
  ["refuses DATA for a moment", "data", "451 later"],
  ["breaks at DATA", "data", "break"],
  ["breaks after the message", "message", "break"],
  ["refuses the message for a moment", "message", "452 4.3.1 full"],
  ["wants another session", "data", "503 bad sequence"],
];

test.each(broken)("a server that %s gets the mail later, once", async (_name, step, answer) => {
  await using sink = await SmtpSink.start();
  let left = 3;
  sink.behave = (at) => {
    if (at !== step || left === 0) return undefined;
    left -= 1;
    return answer;
  };
  const { give, stored, settled } = await open({ smtp: sink.address });
  await give("ann@example.com");
  await settled();
  expect(left).toBe(0);
  // A message that the server may have taken is sent again by this service alone, after a pause.
  const [mail] = stored();
  expect([mail?.status, step === "message" ? mail?.attempts : 4]).toEqual(["sent", 4]);
  expect(sink.taken.map(({ to }) => to)).toEqual(["ann@example.com"]);
});

test.each<[name: string, step: SmtpStep, answer: string]>([
  ["recipient", "rcpt", "550 5.1.1 no such user"],
  ["message", "message", "554 5.7.1 looks like spam"],
])("a %s that the server refuses for good fails at once, and is shown", async (_name, step, answer) => {
  await using sink = await SmtpSink.start();
  sink.behave = (at, text) => (at === step && /bounce/.test(text) ? answer : undefined);
  const { give, stored, settled, mails, database, log } = await open({ smtp: sink.address });
  await give("bounce@example.com", "bounce");
  await give("ann@example.com");
  await settled();
  expect(stored()).toMatchObject([
    { recipient: "bounce@example.com", status: "failed", attempts: 1, error: expect.stringContaining(answer) },
    { recipient: "ann@example.com", status: "sent" },
  ]);
  expect(sink.taken.map(({ to }) => to)).toEqual(["ann@example.com"]);
  await sink.until(() => mails.totals().failed === 1 && mails.totals().sent === 1);
  expect(log.filter((line) => line.startsWith("WARN"))).toEqual(["WARN A mail has failed"]);
  // A retry by hand has all the attempts again.
  sink.behave = () => undefined;
  const [failed] = stored();
  await database.transact((tx) => mails.retry(tx, failed?.id ?? ""));
  await settled();
  expect(stored().map(({ status }) => status)).toEqual(["sent", "sent"]);
});

test("a message that the server accepted before the connection broke arrives again, with the same Message-ID", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step) => (step === "message" && sink.taken.length === 0 ? "lost" : undefined);
  const { give, settled } = await open({ smtp: sink.address });
  await give("ann@example.com");
  await settled();
  const ids = sink.taken.map((mail) => headerOf(mail, "Message-ID"));
  expect(ids).toEqual([ids[0] ?? "", ids[0] ?? ""]);
});

test("a connection that ends right after the 250 sends nothing again", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step) => (step === "message" ? "leave" : undefined);
  const { give, settled, stored } = await open({ smtp: sink.address });
  for (let i = 0; i < 20; i++) await give(`ann${i}@example.com`);
  await settled();
  expect(stored().map(({ status }) => status)).toEqual(Array(20).fill("sent"));
  expect(new Set(sink.taken.map(({ to }) => to)).size).toBe(20);
  expect(sink.taken.length).toBe(20);
});

test("an accepted mail is not sent again while the outcome waits to be written", async () => {
  await using sink = await SmtpSink.start();
  const writer = Promise.withResolvers<void>();
  const { give, settled, database } = await open({ smtp: sink.address });
  let held: Promise<void> | null = null;
  sink.behave = (step) => {
    // Another transaction holds the writer from now on.
    if (step === "message") held ??= database.transactLong("test", () => writer.promise);
    return undefined;
  };
  await give("ann@example.com");
  await sink.until(() => sink.taken.length > 0);
  await Bun.sleep(300);
  writer.resolve();
  await held;
  await settled();
  expect(sink.taken.length).toBe(1);
});

test("after a day of attempts a mail has failed, about ten attempts in all", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step) => (step === "rcpt" ? "450 4.2.0 later" : undefined);
  const { give, stored, settled, database } = await open({ smtp: sink.address, pauseFactor: 0.00001 });
  await give("ann@example.com");
  await sink.until(() => (stored()[0]?.attempts ?? 0) >= 5);
  await database.transact((tx) => tx.run("UPDATE _mails SET since = since - 86400000"));
  await settled();
  expect(stored()).toMatchObject([{ status: "failed", error: expect.stringContaining("450 4.2.0 later") }]);
});

test("mails that hang delay no other mail: a recipient has a single place", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step, text) => (step === "rcpt" && /hang/.test(text) ? "hang" : undefined);
  const { give, code, stored } = await open({ smtp: sink.address });
  for (let i = 0; i < 30; i++) await give("hang@example.com");
  for (let i = 0; i < 3; i++) await give(`hang${i}@example.com`);
  for (let i = 0; i < 10; i++) await give(`ann${i}@example.com`);
  // A code waits for no other mail, not even of the same recipient.
  await code("bob@example.com");
  sink.behave = (step, text) => (step === "message" && /hang/.test(text) && !/424242/.test(text) ? "hang" : undefined);
  await code("hang@example.com", "424242");
  await sink.until(() => stored().filter(({ status }) => status === "sent").length === 12);
  expect(stored().filter(({ status }) => status === "waiting").length).toBe(33);
  expect(sink.taken.filter(({ to }) => to.startsWith("hang")).map((mail) => bodyOf(mail).includes("424242"))).toEqual([
    true,
  ]);
});

test("mails with a failed attempt leave places to new mails", async () => {
  await using sink = await SmtpSink.start();
  let answer: "hang" | "450 later" = "450 later";
  sink.behave = (step, text) => (step === "rcpt" && /hang/.test(text) ? answer : undefined);
  const { give, stored } = await open({ smtp: sink.address });
  for (let i = 0; i < 12; i++) await give(`hang${i}@example.com`);
  await sink.until(() => stored().every(({ attempts }) => attempts > 0));
  const before = sink.commands.length;
  answer = "hang";
  await sink.until(() => sink.commands.slice(before).filter((line) => /^RCPT.*hang/.test(line)).length >= 4);
  await sink.until(() => stored().every(({ notBefore }) => notBefore < Date.now() - 200));
  for (let i = 0; i < 10; i++) await give(`ann${i}@example.com`);
  await sink.until(() => stored().filter(({ status }) => status === "sent").length === 10);
  expect(stored().filter(({ status }) => status === "waiting").length).toBe(12);
});

test.each([
  ["is silent", { silenceMs: 600 }],
  ["takes too long in all", { mailMs: 600 }],
])("an attempt during which the server %s fails, and the next attempt sends the mail", async (_name, times) => {
  await using sink = await SmtpSink.start();
  let left = 2;
  sink.behave = (step) => {
    if (step !== "message" || left === 0) return undefined;
    left -= 1;
    return "hang";
  };
  const { give, stored, settled } = await open({ smtp: sink.address, ...times });
  await give("ann@example.com");
  await settled();
  expect(stored()).toMatchObject([{ status: "sent", attempts: 3 }]);
  expect(sink.taken.length).toBe(1);
});

test("an address beyond ASCII is written in the form that the server needs", async () => {
  await using sink = await SmtpSink.start();
  const { give, settled } = await open({ smtp: sink.address.replace("127.0.0.1", "localhost") });
  await give("jörg@bücher.example", "Grüße");
  await settled();
  await give("ann@bücher.example", "Grüße");
  await settled();
  expect(sink.taken.map(({ to }) => to)).toEqual(["jörg@bücher.example", "ann@xn--bcher-kva.example"]);
  const senders = sink.commands.filter((line) => line.startsWith("MAIL"));
  expect(senders).toEqual(["MAIL FROM:<shop@example.com> SMTPUTF8", "MAIL FROM:<shop@example.com>"]);
});

test("codes go before other mails, and mails of accounts before mails of the code", async () => {
  await using sink = await SmtpSink.start();
  sink.behave = (step) => (step === "connect" ? "421 closed" : undefined);
  const { give, code, mails, database, settled } = await open({ smtp: sink.address, pauseFactor: 0.02 });
  for (let i = 0; i < 40; i++) await give(`news${i}@example.com`);
  for (let i = 0; i < 20; i++)
    await database.transact((tx) => mails.add(tx, { kind: "taken", to: `ann${i}@example.com`, values: {} }));
  for (let i = 0; i < 10; i++) await code(`bob${i}@example.com`);
  await database.transact((tx) => tx.run("UPDATE _mails SET notBefore = 0, attempts = 0"));
  sink.behave = () => undefined;
  await settled();
  const order = sink.taken.map(({ to }) => to.replace(/\d+@.*/, ""));
  // Eight are under way at a time, so neighbours may overtake each other.
  expect(new Set(order.slice(0, 10))).toEqual(new Set(["bob"]));
  expect(order.slice(10, 30).filter((name) => name === "ann").length).toBeGreaterThan(15);
  expect(order.slice(38).every((name) => name === "news")).toBe(true);
});

test("a restart sends the waiting mails, and no mail that was sent", async () => {
  await using sink = await SmtpSink.start();
  const path = join(temporaryFolder(), "mails.db");
  sink.behave = (step, text) => (step === "rcpt" && /wait/.test(text) ? "hang" : undefined);
  const first = await open({ smtp: sink.address, path });
  await first.give("ann@example.com");
  await first.give("wait@example.com");
  await sink.until(() => sink.taken.length === 1 && sink.commands.some((line) => /wait/.test(line)));
  await first.stop(200);
  sink.behave = () => undefined;
  const second = await open({ smtp: sink.address, path });
  await second.settled();
  expect(sink.taken.map(({ to }) => to)).toEqual(["ann@example.com", "wait@example.com"]);
  // The stop has ended an attempt, which does not count.
  expect(second.stored().map(({ attempts }) => attempts)).toEqual([1, 1]);
});
