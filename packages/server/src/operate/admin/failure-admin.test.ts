/** The groups of failures in the admin API: their causes and counts over all kinds of work, retries, mute, resolve, and seen again. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { EventEntry, FailureGroup, FailurePage, FailureRetryStarted, Page, QueueRun } from "@socle/protocol";
import { openScripts } from "../../../test/scripts.ts";
import { SmtpSink } from "../../../test/smtp-sink.ts";
import { until } from "../../../test/sockets.ts";
import { groupOld } from "../../store/failures/index.ts";

const sink = await SmtpSink.start();
afterAll(() => sink[Symbol.asyncDispose]());
const opened = await openScripts({
  collections: [{ name: "items", fields: [{ name: "name", type: "string" }] }],
  settings: {
    SERVICE_MAIL_FROM: "shop@example.com",
    SERVICE_MAIL_SMTP: sink.address,
    SERVICE_PUBLIC_URL: "https://shop.example.com",
  },
  files: {
    "functions/items/notify.ts": `import { existsSync } from "node:fs";
export const onCreate = ({ record }) => {
  if (existsSync("./mended")) return;
  if (record.name.startsWith("other")) throw new Error("cannot notify " + JSON.stringify(record.name));
  if (record.name.startsWith("bad")) throw new Error("cannot notify " + JSON.stringify(record.name));
};
export const beforeDelete = ({ record }) => {
  if (record.name.startsWith("bad")) throw new Error("hook of " + record.id);
};`,
    "endpoints/fail.ts": `export const access = "public";
export const GET = (request) => { throw new Error("no " + new URL(request.url).searchParams.get("n")); };`,
    "jobs/mail.ts": `import { existsSync } from "node:fs";
export const queue = { concurrency: 4, retries: 0 };
export default ({ payload }) => { if (!existsSync("./mended")) throw new Error("no letter " + payload); };`,
    "jobs/tidy.ts": `import { existsSync } from "node:fs";
export const schedule = "0 3 * * *";
export const options = { retries: 0 };
export default () => { if (!existsSync("./mended")) throw new Error("not tidy"); };`,
  },
});
const { request, scripts, service, parts } = opened;
const stopping = new AbortController();
beforeAll(() => parts.admin.failures.start(stopping.signal));
const token = await opened.admin();
const path = "/api/admin/failures";
const list = async (query = ""): Promise<FailurePage> =>
  (await request<FailurePage>("GET", `${path}${query}`, { token })).body;
const get = async (id: string): Promise<FailureGroup> =>
  (await request<FailureGroup>("GET", `${path}/${id}`, { token })).body;
const post = (id: string, action: string) => request("POST", `${path}/${id}/${action}`, { token });
const create = async (name: string): Promise<string> =>
  (await request<{ id: string }>("POST", "/api/items", { body: { name } })).body.id;

async function only(query: string): Promise<FailureGroup> {
  const { items } = await list(query);
  expect(items).toHaveLength(1);
  return items[0] as FailureGroup;
}

async function finished(id: string): Promise<NonNullable<FailureGroup["retry"]>> {
  for (;;) {
    const { retry } = await get(id);
    if (retry?.status === "completed") return retry;
    await Bun.sleep(2);
  }
}

test("without failures there is no group", async () => {
  expect(await list()).toEqual({ items: [], nextCursor: null, open: 0 });
});

test("failures of one cause are a group whatever their values, and another line is another group", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) ids.push(await create(`bad ${n}`));
  const other = await create("other 1");
  await create("fine");
  await scripts.settled();
  const { items, open } = await list("?kind=function");
  expect([items.length, open]).toEqual([2, 2]);
  const [last, group] = items as [FailureGroup, FailureGroup];
  expect(group.id).toMatch(/^flr_[0-9a-f]{24}$/);
  expect(group).toMatchObject({
    kind: "function",
    file: "functions/items/notify.ts",
    line: 5,
    message: "cannot notify …",
    example: 'cannot notify "bad 11" (functions/items/notify.ts:5:48)',
    count: 12,
    status: "open",
    seenAgain: false,
    canRetry: true,
    retry: null,
    records: ids.slice(2).reverse(),
  });
  expect(group.runs).toHaveLength(10);
  expect(new Set(group.runs).size).toBe(10);
  expect(group.first <= group.last).toBe(true);
  expect(last).toMatchObject({ line: 4, message: "cannot notify …", count: 1, records: [other] });
  expect(await get(group.id)).toEqual(group);
});

test("pages follow each other without a gap or a double; wrong parameters are 400", async () => {
  const first = await list("?limit=1");
  const second = await list(`?limit=1&cursor=${first.nextCursor}`);
  expect([...first.items, ...second.items]).toEqual((await list()).items);
  expect(second.nextCursor).toBeNull();
  for (const query of ["status=closed", "kind=record", "cursor=x", "limit=-1"])
    expect((await request("GET", `${path}?${query}`, { token })).status).toBe(400);
});

test("a queue's 90 failed runs are retried at once, with the progress; a retry of nothing is 400", async () => {
  for (let n = 0; n < 90; n++)
    await request("POST", "/api/admin/jobs/mail/enqueue", { token, body: { payload: String(n) } });
  await scripts.settled();
  const group = await only("?kind=queue");
  expect(group).toMatchObject({ message: "no letter …", count: 90, file: "jobs/mail.ts", line: 3 });
  await Bun.write(`${opened.folder}/mended`, "");
  const { status, body } = await request<FailureRetryStarted>("POST", `${path}/${group.id}/retry`, { token });
  expect([status, body.id, body.retry.total]).toEqual([202, group.id, 90]);
  expect(await finished(group.id)).toMatchObject({ total: 90, done: 90, failed: 0, error: null });
  await scripts.settled();
  const failed = await request<Page<QueueRun>>("GET", "/api/admin/jobs/mail/queue?status=failed", { token });
  expect(failed.body.total).toBe(0);
  expect(await get(group.id)).toMatchObject({ count: 90, status: "resolved" });
  expect((await post(group.id, "retry")).status).toBe(400);
});

test("runs of functions that fail again are failed in the progress, and count again; the runs of other groups stay", async () => {
  const [last, group] = (await list("?kind=function")).items as [FailureGroup, FailureGroup];
  await Bun.file(`${opened.folder}/mended`).delete();
  expect((await post(group.id, "retry")).status).toBe(202);
  expect(await finished(group.id)).toMatchObject({ total: 12, done: 12, failed: 12 });
  await scripts.settled();
  expect(await get(group.id)).toMatchObject({ count: 24, status: "open", seenAgain: true });
  expect(await get(last.id)).toEqual(last);
  await Bun.write(`${opened.folder}/mended`, "");
  expect((await post(group.id, "retry")).status).toBe(202);
  expect(await finished(group.id)).toMatchObject({ total: 12, done: 12, failed: 0 });
  expect(await get(group.id)).toMatchObject({ count: 24, status: "resolved", seenAgain: false });
  const runs = await request<{ total: number }>("GET", "/api/admin/functions/runs?status=completed&limit=0", { token });
  expect(runs.body.total).toBe(13);
});

test("all failed runs of a kind, or of a file, are retried by one request; other kinds and bodies are 400", async () => {
  const all = (body: unknown) => request<{ runs: number }>("POST", `${path}/retry`, { token, body });
  expect((await all({ kind: "function", file: "functions/items/none.ts" })).body).toEqual({ runs: 0 });
  for (const body of [{ kind: "hook" }, { kind: "none" }, {}, { kind: "queue", other: 1 }])
    expect((await all(body)).status).toBe(400);
  await Bun.file(`${opened.folder}/mended`).delete();
  for (let n = 0; n < 60; n++)
    await request("POST", "/api/admin/jobs/mail/enqueue", { token, body: { payload: String(n) } });
  await scripts.settled();
  await Bun.write(`${opened.folder}/mended`, "");
  const { status, body } = await all({ kind: "queue", file: "jobs/mail.ts" });
  expect([status, body.runs]).toEqual([202, 60]);
  expect(await finished(String((await only("?kind=queue")).id))).toMatchObject({ total: 60, done: 60, failed: 0 });
  expect((await all({ kind: "queue" })).body).toEqual({ runs: 0 });
});

test("a run whose file is gone stays failed, and the retry says why", async () => {
  const [other] = (await list("?kind=function")).items;
  const id = other?.line === 4 ? other.id : String((await list("?kind=function")).items[1]?.id);
  const code = await Bun.file(`${opened.folder}/functions/items/notify.ts`).text();
  await Bun.file(`${opened.folder}/functions/items/notify.ts`).delete();
  await scripts.reload();
  expect((await post(id, "retry")).status).toBe(202);
  const retry = await finished(id);
  expect(retry).toMatchObject({ total: 1, done: 1, failed: 1, error: expect.stringContaining("is not loaded") });
  expect((await get(id)).status).toBe("open");
  await opened.save({ "functions/items/notify.ts": code });
  expect((await post(id, "retry")).status).toBe(202);
  expect(await finished(id)).toMatchObject({ total: 1, failed: 0 });
});

test("a schedule's job runs once more", async () => {
  await Bun.file(`${opened.folder}/mended`).delete();
  await scripts.jobs.start();
  for (let n = 0; n < 3; n++) {
    await request("POST", "/api/admin/jobs/tidy/run", { token });
    await scripts.settled();
  }
  const group = await only("?kind=job");
  expect(group).toMatchObject({ count: 3, file: "jobs/tidy.ts", line: 4, records: [] });
  expect((await post(group.id, "retry")).status).toBe(202);
  expect(await finished(group.id)).toMatchObject({ total: 1, done: 1, failed: 1 });
  expect((await get(group.id)).count).toBe(4);
  await Bun.write(`${opened.folder}/mended`, "");
  await post(group.id, "mute");
  expect((await post(group.id, "retry")).status).toBe(202);
  expect(await finished(group.id)).toMatchObject({ total: 1, done: 1, failed: 0 });
  expect((await get(group.id)).status).toBe("muted");
  await post(group.id, "reopen");
});

describe("failures of calls", () => {
  test("hooks and endpoints have groups with all their failures, and no retry", async () => {
    const id = await create("bad one");
    for (let n = 0; n < 3; n++) expect((await request("DELETE", `/api/items/${id}`)).status).toBe(503);
    const hook = await only("?kind=hook");
    expect(hook).toMatchObject({
      message: "hook of …",
      count: 3,
      line: 8,
      records: [id],
      canRetry: false,
      retry: null,
    });
    // More than the sixty failures of a minute that the log has.
    for (let n = 0; n < 90; n++) expect((await request("GET", `/api/function/fail?n=${n}`)).status).toBe(500);
    const endpoint = await only("?kind=endpoint");
    expect(endpoint).toMatchObject({ message: "no …", count: 90, file: "endpoints/fail.ts", line: 2, canRetry: false });
    for (const group of [hook, endpoint]) {
      const { status, body } = await post(group.id, "retry");
      expect([status, String(body["error"]?.["message"])]).toEqual([400, expect.stringContaining("cannot be retried")]);
      expect(await get(group.id)).toEqual(group);
    }
  });

  test("messages that a stranger chooses take a bounded number of groups of their place", async () => {
    const word = (n: number): string => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
    for (let n = 0; n < 40; n++) await request("GET", `/api/function/fail?n=${word(n)}`);
    const { items } = await list("?kind=endpoint&limit=100");
    expect(items).toHaveLength(21);
    const others = items.find(({ message }) => message.startsWith("Other messages"));
    expect(others).toMatchObject({ count: 21, file: "endpoints/fail.ts", line: 2 });
    expect(items.reduce((sum, { count }) => sum + count, 0)).toBe(130);
  });
});

test("a mail that was refused is retried", async () => {
  const write = (recipient: string) =>
    service.database.transact((tx) => {
      service.mails.addGiven(tx, { recipient, subject: "News", text: "News\n", html: null });
    });
  const running = new AbortController();
  service.mails.start(running.signal);
  sink.behave = (step) => (step === "rcpt" ? "550 5.1.1 no such box" : undefined);
  await write("ann@example.com");
  await write("bob@example.com");
  await until(() => service.mails.totals().failed === 2);
  const group = await only("?kind=mail");
  expect(group).toMatchObject({ file: null, line: null, count: 2, records: [] });
  expect(group.runs).toEqual([expect.stringMatching(/^mai_/), expect.stringMatching(/^mai_/)]);
  sink.behave = () => undefined;
  expect((await post(group.id, "retry")).status).toBe(202);
  expect(await finished(group.id)).toMatchObject({ total: 2, done: 2, failed: 0 });
  running.abort();
});

test("a muted group counts and is not open; a resolved group that fails again is open and seen again; all is in the audit", async () => {
  await Bun.file(`${opened.folder}/mended`).delete();
  const { id, count } = (await list("?kind=function")).items.find(({ line }) => line === 5) as FailureGroup;
  await post(id, "reopen");
  const { open } = await list();
  const fail = async (): Promise<FailureGroup> => {
    await create("bad again");
    await scripts.settled();
    return get(id);
  };
  expect((await post(id, "mute")).status).toBe(200);
  expect(await fail()).toMatchObject({ status: "muted", seenAgain: false, count: count + 1 });
  expect((await list()).open).toBe(open - 1);
  expect((await list("?status=muted")).items.map((group) => group.id)).toEqual([id]);
  expect((await post(id, "reopen")).body as unknown).toMatchObject({ status: "open", seenAgain: false });
  expect((await post(id, "resolve")).body as unknown).toMatchObject({ status: "resolved" });
  expect((await list()).open).toBe(open - 1);
  expect(await fail()).toMatchObject({ status: "open", seenAgain: true, count: count + 2 });
  expect((await list()).open).toBe(open);
  expect((await post(id, "resolve")).body as unknown).toMatchObject({ status: "resolved", seenAgain: false });
  const { body } = await request<Page<EventEntry>>("GET", "/api/admin/events?type=admin.failure.*", { token });
  const own = body.items.filter(({ payload }) => payload["target"] === id).map(({ type }) => type.slice(14));
  expect(own.slice(0, 4)).toEqual(["resolved", "resolved", "reopened", "muted"]);
  expect(own).toContain("retried");
});

test("an unknown group is 404; no caller but an admin reads or changes anything", async () => {
  for (const action of ["retry", "mute", "resolve", "reopen"])
    expect((await post("flr_none", action)).status).toBe(404);
  expect((await request("GET", `${path}/flr_none`, { token })).status).toBe(404);
  const { accessToken } = await opened.register("member@example.com");
  const before = await list();
  const [group] = before.items;
  for (const [caller, status] of [
    [accessToken, 403],
    [undefined, 401],
  ] as const) {
    const by = caller === undefined ? {} : { token: caller };
    expect((await request("GET", path, by)).status).toBe(status);
    for (const action of ["retry", "mute", "resolve", "reopen"])
      expect((await request("POST", `${path}/${group?.id}/${action}`, by)).status).toBe(status);
  }
  expect(await list()).toEqual(before);
});

test("failures of an earlier version are grouped once at the start", async () => {
  await scripts.settled();
  const { items: known } = await list("?limit=1000");
  await service.database.transact((tx) => {
    tx.run("DELETE FROM _failure_groups");
    tx.run("INSERT OR IGNORE INTO _failure_upgrade (only) VALUES (1)");
  });
  const { failures } = parts.admin;
  await failures.groupOld();
  const { items } = await list("?limit=1000");
  const idsOf = (groups: readonly FailureGroup[], kinds: readonly string[]): string[] =>
    groups
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ id }) => id)
      .sort();
  const failing = known.find(({ line }) => line === 5)?.id;
  expect(idsOf(items, ["function"])).toEqual([String(failing)]);
  expect(items.find(({ id }) => id === failing)).toMatchObject({ count: 2 });
  expect(idsOf(items, ["job"])).toEqual(idsOf(known, ["job"]));
  expect(items.filter(({ kind }) => kind === "endpoint").length).toBeGreaterThan(0);
  await failures.groupOld();
  expect((await list("?limit=1000")).items).toEqual(items);
});

test("the number of groups is bounded: resolved groups go first, and the newest group stays", async () => {
  const [resolved] = (await list()).items;
  await post(String(resolved?.id), "resolve");
  const word = (n: number): string => [...String(n)].map((digit) => "abcdefghij"[Number(digit)]).join("");
  await service.database.transact((tx) =>
    groupOld(
      tx,
      Array.from({ length: 600 }, (_, n) => {
        return {
          kind: "queue",
          path: `jobs/${word(n)}.ts`,
          error: "no",
          at: n,
          run: `run_${n}`,
          record: null,
        } as const;
      }),
    ),
  );
  const { items } = await list("?limit=1000");
  expect(items).toHaveLength(500);
  const files = items.map(({ file }) => file);
  expect(files).toContain(`jobs/${word(599)}.ts`);
  expect(files).not.toContain(`jobs/${word(0)}.ts`);
  expect(items.map(({ id }) => id)).not.toContain(resolved?.id);
});
