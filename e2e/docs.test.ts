/** The files that the pages of docs/ print: a project of these files loads, type-checks, and does as the page says. */
import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { RecordList, RecordPage, StoredRecord } from "@socle/protocol";
import { SocleClient, type SocleError } from "../packages/client/src/index.ts";
import { bodyOf, SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { ofRepository } from "../scripts/site/pages.ts";
import { post, printedProject, root, serve, socle, temporaryFolder, until } from "./kit.ts";
import { RunEvents } from "./scripts-kit.ts";

/** The constructor of functions that wait. */
const AsyncFunction = (async () => undefined).constructor as new (
  ...code: string[]
) => (...values: unknown[]) => Promise<unknown>;

async function made(url: string, body: object): Promise<StoredRecord> {
  const answer = await post(url, body);
  expect(answer.status).toBe(201);
  return (await answer.json()) as StoredRecord;
}

describe("docs/endpoints.md", async () => {
  const { cwd, paths } = await printedProject("endpoints.md");
  symlinkSync(join(root, "node_modules"), join(cwd, "node_modules"));

  test("prints a project that type-checks", async () => {
    expect(paths).toEqual([
      "endpoints/hello.ts",
      "endpoints/orders/[id].ts",
      "collections/orders.json",
      "endpoints/orders/index.ts",
      "endpoints/orders/_middleware.ts",
      "endpoints/payments.ts",
      "jobs/receipt.ts",
      "config.json",
      "endpoints/ticks.ts",
    ]);
    const { code, stdout } = await socle(["check"], { cwd });
    expect([code, stdout]).toEqual([0, "PAYMENTS_SECRET, which scripts.env declares, is not set here\n"]);
  });

  test("its endpoints do what the page promises", async () => {
    await Bun.write(join(cwd, ".env"), "PAYMENTS_SECRET=shared\n");
    const server = await serve(cwd);
    const url = `${server.url}/api/function`;
    const client = new SocleClient({ baseUrl: server.url });
    expect(await (await client.function("hello?name=Eva")).json()).toEqual({ hello: "Eva" });
    await client.register({ email: "eva@example.com", password: "correct horse" });
    const { id } = await client.collection("orders").create({ amount: 5 });
    expect(await (await client.function(`orders/${id}`)).json()).toMatchObject({ id, amount: 5, paid: null });
    expect((await client.function(`orders/${id}`)).headers.get("server-timing")).toStartWith("handler;dur=");
    const own = await client.function("orders?notify=true", { body: { amount: 7 } });
    expect(await own.json()).toEqual({ id: expect.any(String), amount: 7 });
    const refused = await client.function("orders?notify=perhaps", { body: { amount: 0 } }).catch((error) => error);
    expect(refused).toMatchObject({ status: 400, details: [{ field: "query.notify" }, { field: "body.amount" }] });
    expect((await fetch(`${url}/orders/${id}`)).status).toBe(401);
    await client.register({ email: "bob@example.com", password: "correct horse" });
    expect(await client.function(`orders/${id}`).catch(({ status }: SocleError) => status)).toBe(404);

    const body = JSON.stringify({ id: "e1", order: id });
    const signature = new Bun.CryptoHasher("sha256", "shared").update(body).digest("hex");
    const send = async (signed: string) =>
      (await fetch(`${url}/payments`, { method: "POST", body, headers: { "X-Signature": signed } })).status;
    expect(await send(signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0")))).toBe(401);
    expect(await send("")).toBe(401);
    expect(await send(signature)).toBe(204);
    await until(() => server.output().includes("A receipt"));

    const ticks = (await client.function("ticks")).body?.getReader();
    expect(new TextDecoder().decode((await ticks?.read())?.value)).toStartWith("data: ");
    await ticks?.cancel();
  });
});

describe("docs/batch.md", async () => {
  const password = "correct horse";
  const { cwd, paths } = await printedProject("batch.md");

  test("prints a project that type-checks", async () => {
    expect(paths).toEqual(["collections/shows.json", "collections/bookings.json", "endpoints/book.ts"]);
    const { code, stdout } = await socle(["check"], { cwd });
    expect([code, stdout]).toEqual([0, ""]);
  });

  test("never sells a seat twice", async () => {
    const server = await serve(cwd, {
      env: { SERVICE_ADMIN_EMAIL: "root@example.com", SERVICE_ADMIN_PASSWORD: password },
    });
    const [client, root] = [new SocleClient({ baseUrl: server.url }), new SocleClient({ baseUrl: server.url })];
    await client.register({ email: "eva@example.com", password });
    await root.login({ email: "root@example.com", password });
    const { id: show } = await root.collection("shows").create({ seats: 2 });
    const book = () =>
      client.function("book", { body: { show } }).then(
        ({ status }) => status,
        ({ status }) => status,
      );
    expect((await Promise.all(Array.from({ length: 5 }, book))).sort()).toEqual([201, 201, 409, 409, 409]);
    expect(await client.collection("shows").get(show)).toMatchObject({ seats: 0 });
    expect(await client.collection("bookings").list()).toMatchObject([{ show }, { show }]);
    await server.stop();
  });
});

describe("docs/functions.md with docs/hooks.md, jobs.md and code.md", async () => {
  const { cwd, paths } = await printedProject("functions.md", "hooks.md", "jobs.md", "code.md");

  test("prints a project that type-checks", async () => {
    expect(paths).toEqual([
      "functions/posts/slug.ts",
      "functions/audit.ts",
      "functions/orders/pay.ts",
      "collections/posts.json",
      "collections/drafts.json",
      "collections/orders.json",
      "collections/payments.json",
      "functions/orders/check.ts",
      "functions/payments/limit.ts",
      "jobs/clean-up.ts",
      "jobs/mail.ts",
      "functions/orders/confirm.ts",
      "endpoints/search.ts",
    ]);
    const { code, stdout } = await socle(["check"], { cwd });
    expect([code, stdout]).toEqual([0, ""]);
  });

  test("its functions and its job do what the page promises, whatever the titles are", async () => {
    const server = await serve(cwd);
    const events = await RunEvents.of(server.url);
    const titles = ["Hello, World!", "Hello, World!", "Größe & Co.", "--", "日本語", "x".repeat(200)];
    for (const title of titles) await made(`${server.url}/api/posts`, { title });
    const order = await made(`${server.url}/api/orders`, { amount: 5 });
    await events.first("function.completed", "functions/orders/pay.ts");
    const read = async (name: string): Promise<StoredRecord[]> =>
      ((await (await fetch(`${server.url}/api/${name}`)).json()) as RecordList).items;
    await until(async () => (await read("posts")).every(({ slug }) => slug !== null));
    const slugs = (await read("posts")).map(({ slug }) => String(slug)).reverse();
    expect(slugs).toEqual([
      expect.stringMatching(/^hello-world-[0-9a-f]{8}$/),
      expect.stringMatching(/^hello-world-[0-9a-f]{8}$/),
      expect.stringMatching(/^gro-e-co-[0-9a-f]{8}$/),
      expect.stringMatching(/^post-[0-9a-f]{8}$/),
      expect.stringMatching(/^post-[0-9a-f]{8}$/),
      expect.stringMatching(/^x{200}-[0-9a-f]{8}$/),
    ]);
    expect(await read("payments")).toMatchObject([{ order: order.id }]);
    const empty = await post(`${server.url}/api/orders`, { amount: 0 });
    expect([empty.status, await empty.json()]).toMatchObject([
      400,
      { error: { details: [{ field: "amount", rule: "refused", message: "An order needs an amount above 0." }] } },
    ]);
    const paid = await fetch(`${server.url}/api/orders/${order.id}`, { method: "DELETE" });
    expect([paid.status, await paid.json()]).toMatchObject([
      403,
      { error: { code: "forbidden", message: "An order that is paid stays." } },
    ]);
    expect(events.all.filter(({ type }) => type === "function.failed")).toEqual([]);
    await made(`${server.url}/api/drafts`, { title: "new" });
    const job = await socle(["run", "job", "clean-up"], { cwd });
    expect(job).toMatchObject({ code: 0, stdout: "INFO  Cleaned up drafts=0\nCompleted\n" });
    await server.stop();
  });
});

test("docs/deploying.md copies what the service of a new project reads, and installs files that a reader has", async () => {
  const page = await Bun.file(join(root, "docs/deploying.md")).text();
  const block = /^```sh systemd\n([\s\S]*?)^```/m.exec(page)?.[1] ?? "";
  const cwd = temporaryFolder();
  expect((await socle(["init", "."], { cwd })).code).toBe(0);
  const names = /^sudo cp -r (.+) \/etc\/socle\/$/m.exec(block)?.[1]?.split(" ") ?? [];
  const left = readdirSync(cwd).filter((name) => !name.startsWith(".") && !names.includes(name));
  expect(left).toEqual(["README.md"]);
  const etc = temporaryFolder();
  for (const name of names) cpSync(join(cwd, name), join(etc, name), { recursive: true });
  const server = await serve(etc, {
    args: ["--port", "0"],
    env: {
      SERVICE_DATABASE: join(temporaryFolder(), "socle.db"),
      SERVICE_STORAGE: join(temporaryFolder(), "storage"),
      // On a busy machine, any query may be slow.
      SERVICE_LOG_SLOW_QUERY: "1h",
    },
  });
  const statusOf = async (path: string): Promise<number> => (await fetch(`${server.url}${path}`)).status;
  expect(await Promise.all(["/", "/api/notes", "/api/function/summary"].map(statusOf))).toEqual([200, 200, 200]);
  expect(readdirSync(etc).sort()).toEqual([...names].sort());
  expect(server.output()).not.toMatch(/WARN|ERROR/);
  await server.stop();
  // The unit is published beside the page, and nothing else of the source is named.
  const [, unit = ""] = /install -m 644 (\S+) \/etc\/systemd/.exec(block) ?? [];
  expect([page.includes(`[${unit}](../deploy/${unit})`), existsSync(join(root, "deploy", unit))]).toEqual([true, true]);
  expect(page.replaceAll(ofRepository, "")).not.toMatch(/(?<!\.\.\/)\b(?:deploy|dist)\/\w/);
});

test("docs/migrations.md prints a migration that type-checks and fills the slugs", async () => {
  const { cwd, paths } = await printedProject("migrations.md");
  expect(paths).toEqual(["collections/posts.json", "migrations/001-slugs.ts"]);
  expect(await socle(["check"], { cwd })).toMatchObject({ code: 0, stdout: "" });
  const seed = JSON.stringify({ posts: ["Hello, World!", "Second"].map((title) => ({ title })) });
  await Bun.write(join(cwd, "seed.json"), seed);
  expect(await socle(["seed", "seed.json"], { cwd })).toMatchObject({ code: 0 });
  const server = await serve(cwd);
  const { items } = (await (await fetch(`${server.url}/api/posts`)).json()) as RecordList;
  expect(items).toMatchObject([{ slug: "second" }, { slug: "hello-world-" }]);
  await server.stop();
});

test("docs/accounts.md prints a definition of users that keeps the promises of the page", async () => {
  const { cwd, paths } = await printedProject("accounts.md");
  expect(paths).toEqual(["config.json", "collections/users.json"]);
  const server = await serve(cwd, { env: { SERVICE_AUTH_REQUIRE_VERIFIED: "false" } });
  const form = { email: "ada@example.com", password: "correct horse", name: "Ada" };
  expect((await post(`${server.url}/api/auth/register`, { ...form, plan: "pro" })).status).toBe(403);
  const { user, accessToken } = (await (await post(`${server.url}/api/auth/register`, form)).json()) as {
    user: { id: string };
    accessToken: string;
  };
  await post(`${server.url}/api/auth/register`, { ...form, email: "ben@example.com", name: "Ben", manager: user.id });
  const headers = { Authorization: `Bearer ${accessToken}` };
  const read = async (path: string) => (await fetch(`${server.url}/api/users${path}`, { headers })).json();
  expect(await read(`/${user.id}`)).toMatchObject({
    name: "Ada",
    plan: "free",
    email: "ada@example.com",
    verified: false,
  });
  expect(await read("?filter=manager.name='Ada'%26%26email~'ben'")).toMatchObject({ items: [{ name: "Ben" }] });
  expect(JSON.stringify(await read("?sort=name"))).toContain("ben@example.com");
  await server.stop();
});

test("docs/accounts.md leads from nothing to a verified email", async () => {
  await using sink = await SmtpSink.start();
  const { cwd } = await printedProject("accounts.md");
  // The definition of users belongs to a later section.
  rmSync(join(cwd, "collections/users.json"));
  const env = { SERVICE_MAIL_SMTP: sink.address };
  const tried = await socle(["mail", "test", "you@example.com"], { cwd, env });
  expect([tried.code, tried.stderr]).toEqual([0, ""]);
  const server = await serve(cwd, { env });
  const page = await Bun.file(join(root, "docs/accounts.md")).text();
  const section = /^## From nothing to a verified email$(.*?)^## /ms.exec(page)?.[1] ?? "";
  const lines = (/```ts\n(.*?)```/s.exec(section)?.[1] ?? "").trim().split("\n");
  expect(lines).toHaveLength(3);
  const client = new SocleClient({ baseUrl: server.url });
  const [email, password] = ["ada@example.com", "correct horse"];
  const run = (line: string, token: string): Promise<unknown> => {
    const code = line.replace("await ", "return await ");
    return new AsyncFunction("client", "email", "password", "token", code)(client, email, password, token);
  };
  const [register = "", verify = "", login = ""] = lines;
  expect(await run(register, "")).toBeNull();
  expect(await run(login, "").catch(({ status }: SocleError) => status)).toBe(403);
  await sink.until(({ taken }) => taken.some(({ to }) => to === email));
  const mail = sink.taken.find(({ to }) => to === email);
  const link = /https:\/\/shop\.example\.com\/_\/auth\/verify\?token=(\S+)/.exec(
    mail === undefined ? "" : bodyOf(mail),
  );
  await run(verify, link?.[1] ?? "");
  expect(await run(login, "")).toMatchObject({ email, verified: true });
  await server.stop();
});

test("docs/queries.md prints collections that load and records that socle seed takes", async () => {
  const { cwd, paths } = await printedProject("queries.md");
  expect(paths).toEqual([
    "collections/authors.json",
    "collections/posts.json",
    "collections/comments.json",
    "seed.json",
  ]);
  expect(await socle(["seed", "seed.json"], { cwd })).toMatchObject({ code: 0 });
  const server = await serve(cwd);
  const answer = await fetch(
    `${server.url}/api/posts?${new URLSearchParams({ filter: 'author.name = "Ada"', sort: "title" })}`,
  );
  expect(((await answer.json()) as RecordPage<StoredRecord>).items.map(({ title }) => title)).toEqual([
    "First steps",
    "Third time lucky",
  ]);
  await server.stop();
});

describe("docs/testing.md", async () => {
  const { cwd, paths } = await printedProject("testing.md");

  test("prints a project that type-checks, and whose tests pass", async () => {
    expect(paths).toHaveLength(9);
    expect(await socle(["check"], { cwd })).toMatchObject({ code: 0, stdout: "" });
    const { code, stderr } = await socle(["test"], { cwd });
    expect(stderr).toContain("5 pass\n 0 fail");
    expect(code).toBe(0);
  });

  test("breaks a test when the code is wrong", async () => {
    await Bun.write(
      join(cwd, "functions/tasks/title.ts"),
      'export const beforeCreate: BeforeCreate<"tasks"> = () => undefined;\n',
    );
    const { code, stderr } = await socle(["test", "title"], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining("2 fail")]);
  });
});
