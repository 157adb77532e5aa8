/** Mails of the executable: a kill at any moment loses no mail, `socle mail test`, texts of the project, mails in tests. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { bodyOf, headerOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { isLong, post, project, serve, socle, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";
import { tested } from "./tested.ts";

const from = "The Shop <shop@example.com>";

const send = `export const access = "public";
export const POST: Endpoint = async (request, { db }) => {
  const { to } = (await request.json()) as { to: string };
  await db.transaction((tx) => tx.mail.send({ to, subject: "Order of " + to, text: "Thank you" }));
  return new Response(null, { status: 204 });
};
`;

test("kills at any moment: each acknowledged mail arrives, and only a mail under way at a kill arrives twice", async () => {
  await using sink = await SmtpSink.start();
  const cwd = await project({ config: { mail: { from, smtp: sink.address } } });
  await write(cwd, { "endpoints/send.ts": send });
  const answered: string[] = [];
  const rounds = isLong ? 6 : 3;
  /** The number of mails that had arrived at each kill. */
  const kills: number[] = [];
  let sent = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await serve(cwd);
    let isKilled = false;
    const worker = async (): Promise<void> => {
      while (!isKilled) {
        const to = `ann${++sent}@example.com`;
        const answer = await post(`${server.url}/api/function/send`, { to }).catch(() => null);
        if (answer?.status === 204) answered.push(to);
        await Bun.sleep(5);
      }
    };
    const workers = [worker(), worker(), worker(), worker()];
    const goal = sink.taken.length + 20 + Math.floor(Math.random() * 60);
    await until(() => sink.taken.length >= goal);
    server.signal("SIGKILL");
    await server.exited;
    kills.push(sink.taken.length);
    isKilled = true;
    await Promise.all(workers);
  }
  const last = await serve(cwd);
  await until(() => {
    const taken = new Set(sink.taken.map(({ to }) => to));
    return answered.every((to) => taken.has(to));
  });
  await Bun.sleep(300);
  expect(await last.stop()).toBe(0);
  const ids = new Map<string, Set<string | null>>();
  for (const mail of sink.taken) ids.getOrInsertComputed(mail.to, () => new Set()).add(headerOf(mail, "Message-ID"));
  // A mail that comes again is the same mail.
  expect([...ids.values()].every(({ size }) => size === 1)).toBe(true);
  expect(new Set([...ids.values()].flatMap((each) => [...each])).size).toBe(ids.size);
  // Eight mails are under way at a time: only these may come again, and only after a kill.
  const places = sink.taken.map(({ to }, at) => ({
    at,
    next: sink.taken.findIndex((mail, i) => i > at && mail.to === to),
  }));
  const again = places.filter(({ next }) => next >= 0);
  const across = kills.map((kill) => again.filter(({ at, next }) => at < kill && next >= kill));
  expect(again.filter((each) => !across.some((of) => of.includes(each)))).toEqual([]);
  expect(across.filter(({ length }) => length > 8)).toEqual([]);
  expect(answered.length).toBeGreaterThan(isLong ? 100 : 50);
});

test("a stop waits for mails under way, and a silent server does not hold up the stop", async () => {
  await using sink = await SmtpSink.start();
  const cwd = await project({ config: { mail: { from, smtp: sink.address } } });
  await write(cwd, { "endpoints/send.ts": send });
  sink.behave = (step, text) => (step === "rcpt" && /hang/.test(text) ? "hang" : undefined);
  const server = await serve(cwd);
  for (const to of ["hang@example.com", "ann@example.com"]) await post(`${server.url}/api/function/send`, { to });
  await until(() => sink.commands.some((line) => line.includes("hang@")) && sink.taken.length === 1);
  expect(await server.stop()).toBe(0);
  sink.behave = () => undefined;
  const next = await serve(cwd);
  await until(() => sink.taken.length === 2);
  expect(await next.stop()).toBe(0);
  expect(sink.taken.map(({ to }) => to)).toEqual(["ann@example.com", "hang@example.com"]);
});

test("socle mail test reports the response of the server, or the reason, in a line", async () => {
  await using sink = await SmtpSink.start({ login: { user: "shop", password: "hush" } });
  const cwd = await project({ config: { mail: { from } } });
  const mailTest = (to: string, smtp: string) =>
    socle(["mail", "test", to], { cwd, env: smtp === "" ? {} : { SERVICE_MAIL_SMTP: smtp } });
  expect(await mailTest(" Ann@Example.com", sink.address)).toEqual({
    code: 0,
    stdout: "The SMTP server has taken a mail to ann@example.com: 250 taken\n",
    stderr: "",
  });
  const [mail] = sink.taken;
  if (mail === undefined) throw new Error("No mail has arrived");
  expect([mail.to, mail.user, headerOf(mail, "Subject")]).toEqual([
    "ann@example.com",
    "shop",
    "A test of the mails of The Shop",
  ]);
  const wrong = await mailTest("ann@example.com", sink.address.replace("hush", "secret"));
  expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
  expect(wrong.stderr).toMatch(/^socle: Invalid login: 535 5\.7\.8 wrong password\n$/);
  sink.behave = (step) => (step === "rcpt" ? "550 no such user" : undefined);
  expect((await mailTest("bob@example.com", sink.address)).stderr).toMatch(/^socle: [^\n]*550 no such user\n$/);
  expect(await mailTest("ann", sink.address)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"ann" is no'),
  });
  expect(await mailTest("ann@example.com", "")).toEqual({
    code: 2,
    stdout: "",
    stderr: "socle: mail.smtp is not set: see docs/mail.md\n",
  });
  expect((await mailTest("ann@example.com", "smtp://127.0.0.1:1")).stderr).toMatch(
    /^socle: [^\n]*ECONNREFUSED[^\n]*\n$/,
  );
  expect(sink.taken.length).toBe(1);
});

test("texts of the project: a broken file ends the start with a line, and a changed file counts at once in development", async () => {
  const cwd = await project({ config: { mail: { from }, publicUrl: "https://shop.example.com" } });
  await write(cwd, { "mails/notice.txt": "Subject: Hi {{nmae}}\n\nx\n", "endpoints/send.ts": send });
  const refused = await socle([], { cwd });
  expect([refused.code, refused.stderr]).toEqual([
    2,
    `socle: ${join(cwd, "mails/notice.txt")}: {{nmae}} is no placeholder of this mail; allowed: app, to, change, origin\n`,
  ]);
  await write(cwd, { "mails/notice.txt": "Subject: Hi\n\nx\n" });
  const server = await serve(cwd, { args: ["dev"] });
  await post(`${server.url}/api/function/send`, { to: "ann@example.com" });
  // Without a server, the log is the mailbox.
  await until(() => server.output().includes("A mail to ann@example.com: Order of ann@example.com"));
  await write(cwd, { "mails/notice.txt": "no subject" });
  await until(() => /The texts of mails stay as they are: \S+notice\.txt: the first line/.test(server.output()));
  await write(cwd, { "mails/notice.txt": "Subject: Hello\n\nx\n" });
  expect(await server.stop()).toBe(0);
});

test("mails over STARTTLS arrive encrypted, with text and HTML in UTF-8, and CR LF makes no header", async () => {
  const { newCertificate } = await import("../packages/server/test/certificates.ts");
  await using sink = await SmtpSink.start({ certificate: await newCertificate("sink.example") });
  const cwd = await project({ config: { mail: { from: "Läden <shop@example.com>", smtp: sink.address } } });
  await write(cwd, {
    "endpoints/send.ts": `export const access = "public";
export const POST: Endpoint = async (request, { mail }) => {
  await mail.send(await request.json());
  return new Response(null, { status: 204 });
};
`,
  });
  const server = await serve(cwd);
  const subject = "Grüße\r\nBcc: eve@example.com\r\n\r\nbody";
  const text = "Zeile 1\n.\n..\nFrom me 🎉\r\n.\r\nBcc: eve@example.com\n";
  await post(`${server.url}/api/function/send`, { to: "ann@example.com", subject, text, html: "<p>ß</p>" });
  await until(() => sink.taken.length === 1);
  const [mail] = sink.taken;
  if (mail === undefined) throw new Error("No mail has arrived");
  expect(mail).toMatchObject({ from: "shop@example.com", to: "ann@example.com", isEncrypted: true });
  expect(headerOf(mail, "Bcc")).toBeNull();
  expect(bodyOf(mail)).toBe(text.replaceAll("\r\n", "\n"));
  expect(bodyOf(mail, "text/html")).toBe("<p>ß</p>");
  expect(sink.commands.filter((line) => line.startsWith("RCPT"))).toEqual(["RCPT TO:<ann@example.com>"]);
  expect(await server.stop()).toBe(0);
});

test("socle test: mails stay in the outbox of the test, and mail is on", async () => {
  const { run } = await tested({
    "endpoints/send.ts": send,
    "endpoints/send.test.ts": `import { expect, service, test } from "socle/test";

test("a mail is written", async () => {
  const ada = await service.client("ada@example.com");
  await ada.function("send", { body: { to: "ada@example.com" } });
  const mails = await service.mails();
  expect(mails).toEqual([
    { kind: "custom", to: "ada@example.com", subject: "Order of ada@example.com", text: "Thank you", html: null, link: null, code: null },
  ]);
});
`,
  });
  const { code, stderr } = await run();
  expect([code, stderr]).toEqual([0, expect.stringContaining("1 pass")]);
});
