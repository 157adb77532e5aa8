/** Mails of the user's code: `mail.send` in every context, and `tx.mail.send` with the commit of a transaction. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";

const settings = { SERVICE_MAIL_FROM: "shop@example.com", SERVICE_LIMITS_MAILS: "10" };
const items = {
  name: "items",
  fields: [{ name: "title", type: "string", required: true }],
  permissions: { create: "public", read: "public" },
};

const api = await openScripts({
  settings,
  collections: [items],
  files: {
    "endpoints/send.ts": `export const access = "public";
      export const POST = async (request, { mail }) => {
        try { return Response.json({ answer: (await mail.send(await request.json())) ?? null }); }
        catch (error) { return Response.json({ code: error.code, message: error.message }); }
      };`,
    "endpoints/order.ts": `export const access = "public";
      let calls = 0;
      export const POST = async (request, { db }) => {
        const { title, fails, others = 0, to = "ann@example.com" } = await request.json();
        calls = 0;
        try {
          await db.transaction(async (tx) => {
            calls += 1;
            const before = await tx.collection("items").list();
            // Somebody else writes between the read and the commit.
            if (calls <= others) await db.collection("items").create({ title: "other" });
            await tx.mail.send({ to, subject: "Order " + title, text: before.length + " before" });
            await tx.collection("items").create({ title });
            if (fails) throw new Error("no");
          });
        } catch (error) { return Response.json({ code: error.code ?? null, message: error.message, calls }); }
        return Response.json({ calls });
      };`,
    "endpoints/only.ts": `export const access = "public";
      export const POST = async (request, { db }) => {
        await db.transaction((tx) => tx.mail.send({ to: "bob@example.com", subject: "Only", text: "x" }));
        return Response.json({});
      };`,
    "functions/items/welcome.ts": `
      export const beforeCreate = ({ record, mail }) =>
        record.title === "hooked" ? mail.send({ to: "hook@example.com", subject: "Hook", text: "x" }).then(() => undefined) : undefined;
      export const onCreate = ({ record, mail }) =>
        record.title === "hooked" && mail.send({ to: "function@example.com", subject: "Function", text: "x" });`,
    "jobs/news.ts": `export const schedule = "0 3 * * *";
      export default ({ mail }) => mail.send({ to: "job@example.com", subject: "Job", text: "x", html: "<p>x</p>" });`,
  },
});
const { service } = api;
const call = async (path: string, body: unknown) =>
  (await api.answer("POST", `/api/function/${path}`, { body })).json();
const sent = () => service.mails.all().map(({ mail }) => `${mail.recipient}: ${mail.subject}`);

test("endpoints, functions, hooks and jobs send mails", async () => {
  const mail = { to: "Ann@Example.com", subject: "Hello", text: "Hello" };
  expect(await call("send", mail)).toEqual({ answer: null });
  await api.request("POST", "/api/items", { body: { title: "hooked" } });
  expect(await api.scripts.run({ kind: "job", name: "news" }, () => undefined)).toBeNull();
  await api.scripts.settled();
  expect(sent().toSorted()).toEqual([
    "ann@example.com: Hello",
    "function@example.com: Function",
    "hook@example.com: Hook",
    "job@example.com: Job",
  ]);
  expect(await call("send", { ...mail, to: "ann" })).toEqual({
    code: "bad_request",
    message: '"to" must be an email address, not "ann".',
  });
  expect(sent().length).toBe(4);
});

test("a mail of a transaction is written with the commit, once, and not without the commit", async () => {
  const before = sent().length;
  expect(await call("order", { title: "a", fails: true })).toEqual({ code: null, message: "no", calls: 1 });
  expect(await call("order", { title: "x".repeat(300_000) })).toMatchObject({ code: expect.any(String) });
  expect(await call("order", { title: "b", to: "nobody" })).toMatchObject({ code: "internal_error", calls: 1 });
  expect(sent().length).toBe(before);
  expect(await call("order", { title: "c", others: 3 })).toEqual({ calls: 4 });
  expect(sent().slice(before)).toEqual(["ann@example.com: Order c"]);
  await call("only", {});
  expect(sent().slice(before + 1)).toEqual(["bob@example.com: Only"]);
  const { body } = await api.request("GET", "/api/items");
  expect(JSON.stringify(body)).not.toMatch(/"title":"[ab]"/);
});

test("with mail off, or a full outbox, the code gets the reason, and a transaction changes nothing", async () => {
  const off = await openScripts({
    files: {
      "endpoints/send.ts": `export const access = "public";
        export const POST = async (_, { mail }) =>
          Response.json(await mail.send({ to: "a@b.example", subject: "x", text: "x" }).catch(({ code, message }) => ({ code, message })));`,
    },
  });
  expect(await (await off.answer("POST", "/api/function/send")).json()).toEqual({
    code: "unavailable",
    message: "This service sends no mails: mail.from is not set.",
  });
  // The server is not started: mails wait.
  const full = await openScripts({
    settings: { ...settings, SERVICE_MAIL_SMTP: "smtp://127.0.0.1:1" },
    collections: [items],
    files: {
      "endpoints/order.ts": `export const access = "public";
        export const POST = async (_, { db }) => {
          try {
            await db.transaction(async (tx) => {
              await tx.collection("items").create({ title: "a" });
              await tx.mail.send({ to: "a@b.example", subject: "x", text: "x" });
            });
          } catch ({ code }) { return Response.json({ code }); }
          return Response.json({});
        };`,
    },
  });
  const answers: unknown[] = [];
  for (let i = 0; i < 7; i++) answers.push(await (await full.answer("POST", "/api/function/order")).json());
  expect(answers).toEqual([...Array(5).fill({}), { code: "unavailable" }, { code: "unavailable" }]);
  expect(full.service.mails.totals().waiting).toBe(5);
  expect((await full.request("GET", "/api/items?count=exact")).body["total"] as unknown).toBe(5);
});
