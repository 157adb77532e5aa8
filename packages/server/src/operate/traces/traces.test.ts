/** Traces over HTTP: the tree of a request, found from each part; bounds, lost events and ids without a trace. */
import { expect, test } from "bun:test";
import type { EventEntry, Trace, TraceSpan } from "@socle/protocol";
import { openScripts } from "../../../test/scripts.ts";

const open = { read: "public", create: "public", update: "public", delete: "public" };
const text = [{ name: "name", type: "string" }];
const api = await openScripts({
  collections: ["orders", "lines", "bills", "plain"].map((name) => ({ name, fields: text, permissions: open })),
  settings: { SERVICE_MAIL_FROM: "Shop <shop@example.com>", SERVICE_PUBLIC_URL: "https://shop.example.com" },
  files: {
    "functions/orders/bill.ts": `export const onCreate = async ({ record, db, jobs, mail }) => {
      await db.transaction(async (tx) => {
        await tx.collection("lines").create({ name: record.name + " 1" });
        await tx.collection("lines").create({ name: record.name + " 2" });
      });
      await mail.send({ to: "ann@example.com", subject: "An order", text: "Thanks" });
      if (record.name === "broken") throw new Error("no bill for " + record.name);
      await jobs.enqueue("bill", { name: record.name });
      await jobs.enqueue("bill", { name: "later" }, { at: new Date(Date.now() + 3_600_000) });
    };
    export const retries = 0;`,
    "jobs/bill.ts": `export const queue = {};
      export default async ({ payload, db }) => { await db.collection("bills").create(payload); };`,
    "endpoints/many.ts": `export const access = "public";
      export const POST = async (request, { db }) => {
        for (let n = 0; n < 11; n++) await db.batch(Array.from({ length: 100 }, (_, i) => ({ method: "create", collection: "plain", body: { name: String(n * 100 + i) } })));
        return new Response("made");
      };`,
    "endpoints/fails.ts": `export const access = "public";
      export const POST = async (request, { db }) => { await db.collection("plain").create({ name: "before" }); throw new Error("no more"); };`,
  },
});
const { service } = api;
const token = await api.admin();

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`This did not happen: ${api.log.slice(-5).join(" ")}`);
    await Bun.sleep(5);
  }
}

async function traceOf(id: string): Promise<Trace> {
  const { status, body } = await api.request<Trace>("GET", `/api/admin/trace/${id}`, { token });
  expect({ id, status }).toEqual({ id, status: 200 });
  return body;
}

/** Creates a record, and answers the id of the request. */
async function create(collection: string, name: string, headers: Record<string, string> = {}): Promise<string> {
  const answer = await api.request("POST", `/api/${collection}`, { body: { name }, headers });
  expect(answer.status).toBe(201);
  return answer.headers.get("x-request-id") ?? "";
}

/** The kind, the name and the status of a span, and the same of the spans below, by the name: parts of one millisecond have no order. */
type Shown = [string, ...Shown[]];
function shown({ kind, name, status, children }: TraceSpan): Shown {
  const own = kind === "transaction" ? kind : `${kind} ${name}${status === "completed" ? "" : ` ${status}`}`;
  return [own, ...children.map(shown).toSorted((a, b) => (a[0] < b[0] ? -1 : 1))];
}

function all(span: TraceSpan): TraceSpan[] {
  return [span, ...span.children.flatMap(all)];
}

/** Whether the run of the order, and the first of its two jobs, are over. */
function isOver(root: TraceSpan): boolean {
  const spans = all(root);
  return (
    spans.some(({ kind, status }) => kind === "job" && status === "completed") &&
    !spans.some(({ status }) => status === "running")
  );
}

/** The spans of a kind. */
async function spansOf(id: string, kind: string): Promise<TraceSpan[]> {
  return all((await traceOf(id)).root).filter((span) => span.kind === kind);
}

const link = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
const order = await create("orders", "one", { traceparent: `00-${link}-01` });
await until(async () => isOver((await traceOf(order)).root));

test("a request has transactions, events, runs, writes of runs and mails as a tree", async () => {
  const { id, root, truncated, trimmed } = await traceOf(order);
  expect({ id, truncated, trimmed }).toEqual({ id: order, truncated: false, trimmed: false });
  expect(shown(root)).toEqual([
    "request POST /api/orders",
    [
      "transaction",
      [
        "event orders.created",
        [
          "function functions/orders/bill.ts:onCreate",
          ["job jobs/bill.ts", ["transaction", ["event bills.created"]]],
          ["job jobs/bill.ts:default waiting"],
          ["mail custom to ann@example.com"],
          ["transaction", ["event lines.created"], ["event lines.created"]],
        ],
      ],
    ],
  ]);
  expect(root.details).toMatchObject({ status: 201, by: null, traceparent: link });
  for (const { startedAt, endedAt, children, status } of all(root)) {
    expect(endedAt === null).toBe(status === "waiting");
    for (const child of children) expect(child.startedAt >= startedAt || root.id === order).toBe(true);
  }
});

test("each part of a trace finds the trace", async () => {
  const { root } = await traceOf(order);
  const parts = all(root);
  expect(parts.map(({ kind }) => kind).toSorted()).toEqual(
    [
      "event",
      "event",
      "event",
      "event",
      "function",
      "job",
      "job",
      "mail",
      "request",
      "transaction",
      "transaction",
      "transaction",
    ], // prettier-ignore
  );
  for (const { id, kind, details } of parts) {
    expect({ kind, found: await traceOf(id) }).toMatchObject({ kind, found: { id: order, root: { id: order } } });
    if (kind === "event") expect((await traceOf(String(details["seq"]))).id).toBe(order);
  }
});

test("two requests share no part of their traces", async () => {
  const other = await create("orders", "two");
  await until(async () => isOver((await traceOf(other)).root));
  const ids = new Set(all((await traceOf(order)).root).map(({ id }) => id));
  expect(all((await traceOf(other)).root).filter(({ id }) => ids.has(id))).toEqual([]);
});

test("a run that has failed has the error, and the changes of a caller have the caller", async () => {
  const ann = await api.register("ann@example.com");
  const { headers } = await api.request("POST", "/api/orders", { body: { name: "broken" }, token: ann.accessToken });
  const id = headers.get("x-request-id") ?? "";
  await until(async () => (await spansOf(id, "function"))[0]?.status === "failed");
  const [run] = await spansOf(id, "function");
  expect(run?.details["error"]).toContain("no bill for broken");
  expect((await traceOf(id)).root.details["by"]).toBe(ann.user.id);
  const [event] = await spansOf(id, "event");
  expect(event?.details["by"]).toBe(ann.user.id);
});

test("a registration without a token, the mail and the sign-in have the request as the cause", async () => {
  const body = { email: "bob@example.com", password: "correct horse battery" };
  const { headers } = await api.request("POST", "/api/auth/register", { body });
  expect(shown((await traceOf(headers.get("x-request-id") ?? "")).root)).toEqual([
    "request POST /api/auth/register",
    ["mail verify to bob@example.com"],
    ["transaction", ["event auth.register"]],
  ]);
  const asked = await api.request("POST", "/api/auth/password/forgot", { body: { email: "bob@example.com" } });
  const reset = asked.headers.get("x-request-id") ?? "";
  await until(async () => (await spansOf(reset, "mail")).length === 1);
  expect(shown((await traceOf(reset)).root)).toEqual([
    "request POST /api/auth/password/forgot",
    ["mail reset to bob@example.com"],
  ]);
});

test("an endpoint that fails has the changes and the lines of the log", async () => {
  const { status, headers } = await api.request("POST", "/api/function/fails", {});
  expect(status).toBe(500);
  const id = headers.get("x-request-id") ?? "";
  await until(async () => (await spansOf(id, "function")).length === 1);
  const { root } = await traceOf(id);
  expect(shown(root)[0]).toBe("request POST /api/function/fails failed");
  expect(shown(root).slice(1)).toEqual([
    ["function endpoints/fails.ts:POST failed"],
    ["log POST of endpoints/fails.ts failed: no more (endpoints/fails.ts:2:123) failed"],
    ["transaction", ["event plain.created"]],
  ]);
});

test("a refused request has no trace, and changes nothing", async () => {
  const refused = await api.request("POST", "/api/orders", { body: { nope: 1 } });
  expect(refused.status).toBe(400);
  const id = refused.headers.get("x-request-id") ?? "";
  expect((await api.request("GET", `/api/admin/trace/${id}`, { token })).status).toBe(404);
});

test("a trace has at most 1,000 spans, and says that further spans exist", async () => {
  const { status, headers } = await api.request("POST", "/api/function/many", {});
  expect(status).toBe(200);
  const { root, truncated } = await traceOf(headers.get("x-request-id") ?? "");
  expect(truncated).toBe(true);
  expect(all(root).length).toBeLessThanOrEqual(1_000);
  expect(all(root).length).toBeGreaterThan(800);
  expect(root.name).toBe("POST /api/function/many");
});

test("the request of a trace is kept on the disk", async () => {
  await service.events.requests.settled();
  const { database, events } = service;
  expect(events.requests.find(order)).toMatchObject({
    id: order,
    method: "POST",
    path: "/api/orders",
    status: 201,
    link,
  });
  expect(database.reader.get("SELECT count(*) AS n FROM _requests WHERE instr(requests, ?) > 0", `"${order}"`)).toEqual(
    {
      n: 1,
    },
  );
  expect(shown((await traceOf(order)).root)[0]).toBe("request POST /api/orders");
});

test("a malformed traceparent is ignored", async () => {
  const [trace = "", parent = ""] = link.split("-");
  const malformed = [
    "",
    "00",
    `00-${trace}-${parent}`,
    `ff-${trace}-${parent}-01`,
    `00-${trace}-${parent}-01-more`,
    `00-${"0".repeat(32)}-${parent}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
    `00-${trace}>x-${parent}-01`,
  ];
  for (const traceparent of malformed) {
    const { root } = await traceOf(await create("plain", "x", { traceparent }));
    expect({ traceparent, kept: root.details["traceparent"] }).toEqual({ traceparent, kept: null });
  }
  const later = await create("plain", "x", { traceparent: `01-${link}-01-later` });
  expect((await traceOf(later)).root.details["traceparent"]).toBe(link);
});

test("a trace has the path of the request without the query, which may hold a token", async () => {
  const answer = await api.request("POST", "/api/plain?secret=hidden", { body: { name: "with a query" } });
  const trace = await traceOf(answer.headers.get("x-request-id") ?? "");
  expect(trace.root.name).toBe("POST /api/plain");
  expect(JSON.stringify(trace)).not.toContain("hidden");
});

test("only admins see traces", async () => {
  const ann = await api.register("carl@example.com");
  expect((await api.request("GET", `/api/admin/trace/${order}`)).status).toBe(401);
  expect((await api.request("GET", `/api/admin/trace/${order}`, { token: ann.accessToken })).status).toBe(403);
});

test("an id without a trace is 404", async () => {
  const { body } = await api.request<{ items: { id: string }[] }>("GET", "/api/orders");
  const unknown = ["nothing", "evt_0", "999999999", "mai_1", "und_1", "run_1", "imp_1", body.items[0]?.id ?? "", "%20"];
  for (const id of unknown) {
    const { status } = await api.request("GET", `/api/admin/trace/${id}`, { token });
    expect({ id, status }).toEqual({ id, status: 404 });
  }
});

test("a trace tells of events that the log has lost, and an id that the log has lost is 404", async () => {
  const { body } = await api.request<{ items: EventEntry[] }>("GET", "/api/admin/events?type=orders.created", {
    token,
  });
  const lost = body.items.at(-1);
  const [mail] = await spansOf(order, "mail");
  const [waiting] = (await spansOf(order, "job")).filter(({ status }) => status === "waiting");
  const { database, events } = service;
  await database.transact((tx) => {
    events.trim(tx, { until: events.committedSeq, limit: 1_000_000 });
    tx.run("DELETE FROM _requests");
  });
  for (const id of [mail?.id, waiting?.id, order]) {
    const { root, trimmed } = await traceOf(id ?? "");
    expect({ id, trimmed, root: root.id }).toEqual({ id, trimmed: true, root: order });
    expect(all(root).filter(({ kind }) => kind === "event")).toEqual([]);
    expect(shown(root).slice(1)).toEqual([["job jobs/bill.ts:default waiting"], ["mail custom to ann@example.com"]]);
  }
  const { status } = await api.request("GET", `/api/admin/trace/${lost?.id}`, { token });
  expect(status).toBe(404);
});
