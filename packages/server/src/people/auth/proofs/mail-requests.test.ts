/** Tests of the bounds on requests for mails: a stranger slows down nobody but the stranger. */
// Promises: A2.
import { expect, spyOn, test } from "bun:test";
import { openApi, temporaryFolder } from "../../../../test/kit.ts";
import { Mailbox } from "../../../../test/mailbox.ts";

const settings = {
  SERVICE_MAIL_FROM: "shop@example.com",
  SERVICE_PUBLIC_URL: "https://shop.example.com",
  SERVICE_LIMITS_RATE_MAIL: "30/h",
  SERVICE_LIMITS_RATE_RECIPIENT: "12/h",
};

async function open(more: Record<string, string> = {}, folder = temporaryFolder()) {
  const api = await openApi({ settings: { ...settings, ...more }, folder });
  const mailbox = new Mailbox(api.service);
  const forgot = async (email: string, address: string): Promise<number> => {
    const headers = { "x-test-address": address };
    return (await api.request("POST", "/api/auth/password/forgot", { body: { email }, headers })).status;
  };
  const resets = async (email: string): Promise<number> =>
    (await mailbox.kinds(email)).filter((kind) => kind === "reset").length;
  return { ...api, mailbox, forgot, resets };
}

test("a stranger cannot use up the mails of an owner, and the responses reveal nothing", async () => {
  const { register, forgot, resets } = await open();
  const email = "owner@example.com";
  await register(email);
  const statuses = [];
  for (let i = 0; i < 10; i++)
    statuses.push(await forgot(email, "stranger"), await forgot("nobody@example.com", "stranger"));
  expect(new Set(statuses)).toEqual(new Set([202]));
  // A quarter of the mails of the recipient.
  expect(await resets(email)).toBe(3);
  expect(await forgot(email, "owner")).toBe(202);
  expect(await resets(email)).toBe(4);
});

test("a recipient gets no more mails than the rate, from however many addresses", async () => {
  const { register, forgot, resets } = await open();
  const email = "bombed@example.com";
  await register(email);
  for (let i = 0; i < 20; i++) expect(await forgot(email, `bot-${i}`)).toBe(202);
  // The registration has mailed, too.
  expect(await resets(email)).toBe(11);
  await register("other@example.com");
  expect([await forgot("other@example.com", "bot-1"), await resets("other@example.com")]).toEqual([202, 1]);
});

test("an address that asks for many mails is slowed down, for known and unknown recipients, and no other address", async () => {
  const { register, forgot, resets } = await open();
  await register("known@example.com");
  for (let i = 0; i < 30; i++) expect(await forgot(`any-${i}@example.com`, "flood")).toBe(202);
  expect([await forgot("known@example.com", "flood"), await forgot("unknown@example.com", "flood")]).toEqual([
    429, 429,
  ]);
  expect([await forgot("known@example.com", "calm"), await resets("known@example.com")]).toEqual([202, 1]);
});

test("requests with a response are mailed before the service ends", async () => {
  const folder = temporaryFolder();
  const api = await open({}, folder);
  await api.register("late@example.com");
  for (let i = 0; i < 3; i++) await api.forgot("late@example.com", "x");
  await api.close();
  const next = await openApi({ settings, folder });
  expect(await new Mailbox(next.service).kinds("late@example.com")).toEqual(["verify", "reset", "reset", "reset"]);
});

const requests: [route: string, body: object][] = [
  ["password/forgot", { email: "known@example.com" }],
  ["password/forgot", { email: "other@example.com" }],
  ["verify/request", { email: "known@example.com" }],
  ["verify/request", { email: "other@example.com" }],
  ["code/request", { email: "known@example.com" }],
  ["code/request", { email: "other@example.com" }],
  ["email", { email: "moved@example.com", password: "correct horse" }],
  ["email", { email: "taken@example.com", password: "correct horse" }],
];

test.each(requests)("%s with %j gets its response before any work, and the work is alike", async (route, body) => {
  const api = await open({ SERVICE_AUTH_CODES: "true" });
  const { accessToken: token } = await api.register("known@example.com");
  await api.register("taken@example.com");
  const { reader } = api.service.database;
  const proofs = (): number => reader.get<{ n: number }>("SELECT count(*) AS n FROM _proofs")?.n ?? -1;
  const before = proofs();
  const transactions = spyOn(api.service.database, "transactFor");
  const answer = await api.answer("POST", `/api/auth/${route}`, { body, ...(route === "email" && { token }) });
  // Not even a transaction has begun.
  expect([answer.status, transactions.mock.calls.length, proofs()]).toEqual([202, 0, before]);
  await api.mailbox.written();
  expect([transactions.mock.calls.length, proofs()]).toEqual([1, before + 1]);
  transactions.mockRestore();
});

test("a mail that cannot be written is a line of the log, and the response is the same", async () => {
  const off = { SERVICE_LIMITS_RATE_RECIPIENT: "off" };
  const smtp = { SERVICE_LIMITS_MAILS: "10", SERVICE_MAIL_SMTP: "smtp://localhost:1" };
  const { register, forgot, resets, entries } = await open({ ...off, ...smtp });
  for (const email of ["full@example.com", "second@example.com"]) await register(email);
  for (let i = 0; i < 8; i++) await forgot("full@example.com", "x");
  for (const email of ["second@example.com", "nobody@example.com"]) expect(await forgot(email, "x")).toBe(202);
  expect([await resets("full@example.com"), await resets("second@example.com")]).toEqual([8, 0]);
  expect(entries("A mail that was asked for was not written").length).toBe(1);
});
