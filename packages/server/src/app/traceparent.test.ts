/** The `traceparent` of requests of the user's code, as a server on loopback sees the requests, from each kind of code. */
import { afterAll, expect, test } from "bun:test";
import type { RunPreview, Trace } from "@socle/protocol";
import { openScripts } from "../../test/scripts.ts";
import { spanIdOf, traceIdOf } from "../store/events/index.ts";

/** The `traceparent` of the requests so far, by path. */
const seen = new Map<string, (string | null)[]>();
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch(request) {
    seen.getOrInsertComputed(new URL(request.url).pathname, () => []).push(request.headers.get("traceparent"));
    return new Response(request.headers.get("x-own"));
  },
});
afterAll(() => server.stop(true));
const url = `http://127.0.0.1:${server.port}`;

const permissions = { read: "public", create: "public", update: "public", delete: "public" };
const fields = [{ name: "name", type: "string" }];
const api = await openScripts({
  collections: ["orders", "bills", "plain"].map((name) => ({ name, fields, permissions })),
  files: {
    "functions/orders/hook.ts": `export const beforeCreate = async () => { await fetch("${url}/hook"); };`,
    "functions/orders/call.ts": `export const onCreate = async ({ record, db, jobs }) => {
      await fetch("${url}/function");
      if (record.name === "broken") throw new Error("no call");
      await jobs.enqueue("send", { name: record.name });
      await db.collection("bills").create({ name: record.name });
    };`,
    "functions/bills/call.ts": `export const onCreate = async () => { await fetch("${url}/later"); };`,
    "jobs/send.ts": `export const queue = {}; export default async () => { await fetch("${url}/queue"); };`,
    "jobs/nightly.ts": `export const schedule = "0 3 * * *"; export default async () => { await fetch("${url}/job"); };`,
    "queries/ask.ts": `export default query({ access: "public" }, async () => { await fetch("${url}/query"); return 1; });`,
    "migrations/0001-call.ts": `export default async () => { await fetch("${url}/migration"); };`,
    "endpoints/call.ts": `export const access = "public";
      export const GET = async () => {
        await fetch("${url}/endpoint");
        await fetch("${url}/own", { headers: { Traceparent: "own" } });
        await fetch(new Request("${url}/own-request", { headers: { traceparent: "own" } }));
        const object = await fetch("${url}/kept", { headers: { "X-Own": "object" } });
        const list = await fetch("${url}/kept", { headers: [["X-Own", "list"]] });
        const request = await fetch(new Request("${url}/kept", { method: "POST", body: "b", headers: { "X-Own": "request" } }));
        const text = await Promise.all([object, list, request].map((each) => each.text()));
        const bad = await fetch("${url}/bad", { headers: { "not a name": "x" } }).then(() => "sent", (error) => error.name);
        const data = await (await fetch("data:text/plain,here")).text();
        return new Response([...text, bad, data].join());
      };`,
  },
});
const token = await api.admin();
const outer = "4bf92f3577b34da6a3ce929d0e0e4736";
const link = `${outer}-00f067aa0ba902b7`;

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`This did not happen: ${api.log.slice(-5).join(" ")}`);
    await Bun.sleep(5);
  }
}

/** The last `traceparent` values of a path, once the path was called so often. */
async function callsOf(path: string, count: number): Promise<(string | null)[]> {
  await until(() => (seen.get(path)?.length ?? 0) >= count);
  return (seen.get(path) ?? []).slice(-count);
}

/** The trace id of a `traceparent` of the service, which must be valid. */
function traceOf(traceparent: string | null | undefined): string {
  expect(traceparent).toMatch(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/);
  return traceparent?.slice(3, 35) ?? "";
}

function parentOf(traceparent: string | null | undefined): string {
  return traceparent?.slice(36, 52) ?? "";
}

async function order(headers: Record<string, string> = {}, name = "one"): Promise<string> {
  const answer = await api.request("POST", "/api/orders", { body: { name }, headers });
  expect(answer.status).toBe(201);
  return answer.headers.get("x-request-id") ?? "";
}

const paths = ["/hook", "/function", "/queue", "/later"];

test("hooks, functions and later runs of a request have one trace id, by which the trace is found", async () => {
  const id = await order();
  const calls = await Promise.all(paths.map(async (path) => (await callsOf(path, 1))[0]));
  expect(calls.map(traceOf)).toEqual(paths.map(() => traceIdOf({ id })));
  const { status, body } = await api.request<Trace>("GET", `/api/admin/trace/${traceOf(calls[0])}`, { token });
  expect({ status, id: body.id }).toEqual({ status: 200, id });
  // The parent is the request of a hook, and otherwise the run.
  expect(parentOf(calls[0])).toBe(spanIdOf(id));
  expect(new Set(calls.map(parentOf)).size).toBe(paths.length);
});

test("the trace id of the caller is that of all runs that follow", async () => {
  await order({ traceparent: `00-${link}-01` });
  const calls = await Promise.all(paths.map(async (path) => (await callsOf(path, 2))[1]));
  expect(calls.map(traceOf)).toEqual(paths.map(() => outer));
  expect(calls.map(parentOf)).not.toContain(link.slice(33));
});

test("a caller that does not record the trace is followed", async () => {
  const { status } = await api.request("GET", "/api/function/call", { headers: { traceparent: `00-${link}-00` } });
  expect(status).toBe(200);
  expect((await callsOf("/endpoint", 1))[0]).toMatch(new RegExp(`^00-${outer}-[0-9a-f]{16}-00$`));
});

test("an endpoint sends a traceparent beside other headers, and a traceparent of the code is kept", async () => {
  const { bytes, headers } = await api.request("GET", "/api/function/call");
  expect(new TextDecoder().decode(bytes)).toBe("object,list,request,TypeError,here");
  const id = headers.get("x-request-id") ?? "";
  const [call] = await callsOf("/endpoint", 1);
  expect([traceOf(call), parentOf(call)]).toEqual([traceIdOf({ id }), spanIdOf(id)]);
  expect((await callsOf("/kept", 3)).map(traceOf)).toEqual([traceOf(call), traceOf(call), traceOf(call)]);
  expect(await callsOf("/own", 2)).toEqual(["own", "own"]);
  expect(await callsOf("/own-request", 2)).toEqual(["own", "own"]);
});

test("a server query has the trace of its request", async () => {
  const { headers, status } = await api.request("GET", "/api/query/ask");
  expect(status).toBe(200);
  expect(traceOf((await callsOf("/query", 1))[0])).toBe(traceIdOf({ id: headers.get("x-request-id") ?? "" }));
});

test("a run of a schedule and a migration begin a trace", async () => {
  await api.scripts.jobs.runByHand("nightly")?.outcome;
  const job = traceOf((await callsOf("/job", 1))[0]);
  const { status, body } = await api.request<Trace>("GET", `/api/admin/trace/${job}`, { token });
  expect({ status, kind: body.root.kind }).toEqual({ status: 200, kind: "job" });
  expect(traceOf((await callsOf("/migration", 1))[0])).not.toBe(job);
});

test("a preview sends nothing", async () => {
  const id = await order({}, "broken");
  await callsOf("/function", 3);
  const calls = seen.get("/function")?.length;
  let run: string | undefined;
  await until(async () => {
    const { body } = await api.request<Trace>("GET", `/api/admin/trace/${id}`, { token });
    run = JSON.stringify(body).match(/"kind":"function","id":"([^"]+)"[^}]*"status":"failed"/)?.[1];
    return run !== undefined;
  });
  const { body } = await api.request<RunPreview>("POST", `/api/admin/runs/${run}/preview`, { token });
  expect(body.calls.items).toMatchObject([{ kind: "fetch", target: `${url}/function` }]);
  expect(JSON.stringify(body)).not.toContain("traceparent");
  expect(seen.get("/function")?.length).toBe(calls);
});
