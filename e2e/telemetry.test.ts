/** Traces at a collector: what the executable sends as OTLP/JSON, and a collector that is away, slow or refuses. The `traceparent` of the user's code. */
import { afterAll, expect, test } from "bun:test";
import Ajv from "ajv";
import { SmtpSink } from "../packages/server/test/smtp-sink.ts";
import { post, project, type Running, serve, singleService, socle, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

singleService("process");

/** `ExportTraceServiceRequest` (opentelemetry-proto, trace/v1/trace.proto) in its JSON form: every field of the messages, and no other. */
const id = (bytes: number): object => ({ type: "string", pattern: `^(?!0+$)[0-9a-f]{${bytes * 2}}$` });
const uint64 = { type: "string", pattern: "^[0-9]{1,20}$" };
const message = (properties: object, required: string[] = []): object => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const list = (items: object): object => ({ type: "array", items });
const value = {
  oneOf: [
    message({ stringValue: { type: "string" } }, ["stringValue"]),
    message({ intValue: { type: "string", pattern: "^-?[0-9]+$" } }, ["intValue"]),
    message({ boolValue: { type: "boolean" } }, ["boolValue"]),
    message({ doubleValue: { type: "number" } }, ["doubleValue"]),
  ],
};
const attributes = list(message({ key: { type: "string", minLength: 1 }, value }, ["key", "value"]));
const span = message(
  {
    traceId: id(16),
    spanId: id(8),
    traceState: { type: "string" },
    parentSpanId: id(8),
    flags: { type: "integer" },
    name: { type: "string", minLength: 1 },
    kind: { enum: [0, 1, 2, 3, 4, 5] },
    startTimeUnixNano: uint64,
    endTimeUnixNano: uint64,
    attributes,
    droppedAttributesCount: { type: "integer" },
    status: message({ code: { enum: [0, 1, 2] }, message: { type: "string" } }),
  },
  ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
);
const isRequest = new Ajv({ allErrors: true }).compile(
  message(
    {
      resourceSpans: list(
        message({
          resource: message({ attributes }),
          scopeSpans: list(
            message({ scope: message({ name: { type: "string" }, version: { type: "string" } }), spans: list(span) }),
          ),
        }),
      ),
    },
    ["resourceSpans"],
  ),
);

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: string } }[];
  readonly status: { code?: number; message?: string };
}

/** A collector on loopback, and the other service that the user's code calls. */
class Collector {
  readonly spans: Span[] = [];
  readonly resources = new Set<string>();
  readonly authorizations = new Set<string | null>();
  /** The `traceparent` of the requests of the user's code, by path. */
  readonly calls = new Map<string, string | null>();
  requests = 0;
  answer: () => Response | Promise<Response> = () => Response.json({});
  readonly #server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/v1/traces") {
        this.calls.set(pathname, request.headers.get("traceparent"));
        return new Response("called");
      }
      this.requests += 1;
      this.authorizations.add(request.headers.get("authorization"));
      const body = await request.json();
      expect({ isRequest: isRequest(body), errors: isRequest.errors }).toEqual({ isRequest: true, errors: null });
      const answer = await this.answer();
      if (!answer.ok) return answer;
      for (const { resource, scopeSpans } of (
        body as { resourceSpans: { resource: object; scopeSpans: { spans: Span[] }[] }[] }
      ).resourceSpans) {
        this.resources.add(JSON.stringify(resource));
        this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
      }
      return answer;
    },
  });

  constructor() {
    afterAll(() => this.#server.stop(true));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  named(name: string): Span[] {
    return this.spans.filter((each) => each.name === name);
  }
}

const permissions = { read: "public", create: "public", update: "public", delete: "public" };
const collections = ["orders", "plain"].map((name) => ({
  name,
  fields: [{ name: "name", type: "string" }],
  permissions,
}));

async function start(
  collector: Collector,
  { telemetry = {}, config = {}, env = {} } = {},
): Promise<Running & { cwd: string }> {
  const sink = await SmtpSink.start();
  afterAll(() => sink[Symbol.asyncDispose]());
  const cwd = await project({
    collections,
    config: {
      telemetry: {
        otlp: { url: collector.url, headers: { authorization: "Bearer hush4711" }, name: "shop", ...telemetry },
      },
      mail: { from: "shop@example.com", smtp: sink.address },
      admin: { email: "admin@example.com" },
      publicUrl: "http://shop.example.com",
      metrics: { token: "metrics" },
      ...config,
    },
  });
  const call = (path: string): string => `await fetch("${collector.url}/${path}");`;
  await write(cwd, {
    "functions/orders/hook.ts": `export const beforeCreate = async () => { ${call("hook")} };`,
    "functions/orders/bill.ts": `export const onCreate = async ({ record, jobs, mail, db }) => {
      ${call("function")}
      await mail.send({ to: "ann@example.com", subject: "An order", text: "Thanks" });
      await jobs.enqueue("send", {});
      await db.collection("plain").create({ name: "bill" });
      if (record.name === "broken") throw new Error("no bill");
    };`,
    "jobs/send.ts": `export const queue = {}; export default async () => { ${call("queue")} };`,
    "jobs/often.ts": `export const schedule = "0 3 1 1 *"; export default async () => { ${call("job")} };`,
    "endpoints/ask.ts": `export const access = "public"; export const GET = async () => { ${call("endpoint")} return new Response("asked"); };`,
  });
  const running = await serve(cwd, { env });
  return Object.assign(running, { cwd });
}

async function metric({ url }: Running, name: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: "Bearer metrics" } });
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await answer.text())?.[1] ?? Number.NaN);
}

const link = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

test("a collector gets the request, transactions, runs and the mail of a trace as a tree, and the code of the trace calls with the same trace id", async () => {
  const collector = new Collector();
  const server = await start(collector);
  const answer = await post(`${server.url}/api/orders`, { name: "one" }, { traceparent: `00-${link}-01` });
  expect(answer.status).toBe(201);
  await until(() => collector.named("jobs/send.ts").length === 1 && collector.named("mail custom").length === 1);
  const trace = collector.spans.filter(({ traceId }) => traceId === link.slice(0, 32));
  const parents = trace.map(({ name, kind, parentSpanId }) => {
    const parent = trace.find(({ spanId }) => spanId === parentSpanId)?.name ?? parentSpanId;
    return `${kind} ${name} < ${parent}`;
  });
  const run = "functions/orders/bill.ts:onCreate";
  expect(parents.toSorted()).toEqual([
    "1 transaction orders.created < POST /api/orders",
    `1 transaction plain.created < ${run}`,
    `2 POST /api/orders < ${link.slice(33)}`,
    `3 mail custom < ${run}`,
    "5 functions/orders/bill.ts:onCreate < POST /api/orders",
    `5 jobs/send.ts < ${run}`,
  ]);
  expect(new Set(trace.map(({ spanId }) => spanId)).size).toBe(trace.length);
  for (const { startTimeUnixNano, endTimeUnixNano, status } of trace) {
    expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);
    expect(Math.abs(Number(BigInt(startTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(600_000);
    expect(status).toEqual({});
  }
  const requestId = answer.headers.get("x-request-id");
  for (const each of trace)
    expect(each.attributes).toContainEqual({ key: "socle.trace", value: { stringValue: String(requestId) } });
  // The span of the caller in the user's code is a span that the collector has.
  for (const path of ["/hook", "/function", "/queue"]) {
    const [, traceId, parent] = collector.calls.get(path)?.split("-") ?? [];
    expect({ path, traceId, isKnown: trace.some(({ spanId }) => spanId === parent) }).toEqual({
      path,
      traceId: link.slice(0, 32),
      isKnown: true,
    });
  }
  expect([...collector.authorizations]).toEqual(["Bearer hush4711"]);
  expect([...collector.resources].join()).toContain('{"key":"service.name","value":{"stringValue":"shop"}}');
  expect(JSON.stringify(collector.spans)).not.toContain("ann@example.com");
  // The trace id of a request without a traceparent leads to the trace.
  const asked = await fetch(`${server.url}/api/function/ask?secret=4711`);
  const [, own = ""] = collector.calls.get("/endpoint")?.split("-") ?? [];
  await until(() => collector.named("GET /api/function/ask").length === 1);
  expect(collector.named("GET /api/function/ask")).toMatchObject([{ traceId: own }]);
  expect(JSON.stringify(collector.spans)).not.toContain("4711");
  const made = await post(`${server.url}/api/plain`, { name: "own" });
  await until(() => collector.named("POST /api/plain").length === 1);
  const [{ traceId } = { traceId: "" }] = collector.named("POST /api/plain");
  const shown = await socle(["trace", traceId], { cwd: server.cwd });
  expect(shown.stdout).toContain(`request POST /api/plain (${made.headers.get("x-request-id")})`);
  // The job of the schedule begins a trace.
  await socle(["run", "job", "often"], { cwd: server.cwd });
  await until(() => collector.named("jobs/often.ts").length > 0);
  const [job] = collector.named("jobs/often.ts");
  expect(job?.parentSpanId).toBeUndefined();
  expect(collector.calls.get("/job")?.split("-").slice(1, 3)).toEqual([job?.traceId ?? "", job?.spanId ?? ""]);
  expect(asked.status).toBe(200);
  expect(await metric(server, "socle_spans_sent_total")).toBe(collector.spans.length);
  expect(await metric(server, "socle_spans_dropped_total")).toBe(0);
});

test("a failed run is a failed span with the message, and records of requests are named by the route", async () => {
  const collector = new Collector();
  const server = await start(collector);
  await post(`${server.url}/api/orders`, { name: "broken" });
  const record = (await (await post(`${server.url}/api/plain`, { name: "x" })).json()) as { id: string };
  await fetch(`${server.url}/api/plain/${record.id}`);
  await fetch(`${server.url}/health`);
  await until(() => collector.spans.some(({ name, status }) => name.endsWith("bill.ts:onCreate") && status.code === 2));
  const failed = collector.spans.find(({ status }) => status.code === 2);
  expect(failed?.status.message).toContain("no bill");
  await until(() => collector.named("GET /api/plain/{id}").length === 1);
  expect(collector.spans.filter(({ name }) => name.includes("health"))).toEqual([]);
});

test("the spans that wait are sent at the stop", async () => {
  const collector = new Collector();
  const server = await start(collector);
  await post(`${server.url}/api/plain`, { name: "last" });
  await server.stop();
  expect(collector.named("POST /api/plain")).toHaveLength(1);
});

test("reader processes send the spans of their requests by the leader", async () => {
  const collector = new Collector();
  const server = await start(collector, { config: { processes: 3 } });
  for (let n = 0; n < 30; n++) await fetch(`${server.url}/api/plain`, { headers: { Connection: "close" } });
  await until(() => collector.named("GET /api/plain").length === 30);
  const prefixes = collector.named("GET /api/plain").map(({ traceId }) => traceId.slice(0, 8));
  expect(new Set(prefixes).size).toBeGreaterThan(1);
});

test("a collector that is away, slow or refuses delays no answer and no stop, and costs one line of the log", async () => {
  const never = new Promise<Response>(() => undefined);
  const answers: { readonly [name: string]: () => Response | Promise<Response> } = {
    slow: () => never,
    500: () => new Response("broken", { status: 500 }),
    413: () => new Response("too large", { status: 413 }),
    503: () => new Response("", { status: 503 }),
  };
  for (const name of ["away", ...Object.keys(answers)]) {
    const collector = new Collector();
    collector.answer = answers[name] ?? collector.answer;
    const telemetry = name === "away" ? { url: "http://127.0.0.1:1" } : {};
    const server = await start(collector, { telemetry, config: { limits: { spans: 512 } } });
    for (let n = 0; n < 60; n++) {
      const sent = await Promise.all(Array.from({ length: 20 }, () => fetch(`${server.url}/api/plain`)));
      expect({ name, statuses: [...new Set(sent.map(({ status }) => status))] }).toEqual({ name, statuses: [200] });
    }
    await until(async () => (await metric(server, "socle_spans_dropped_total")) > 0);
    expect({ name, sent: await metric(server, "socle_spans_sent_total") }).toEqual({ name, sent: 0 });
    const before = performance.now();
    await server.stop();
    // A stop has eight seconds; the collector gets one of them.
    expect({ name, isSoon: performance.now() - before < 8_000 }).toEqual({ name, isSoon: true });
    const lines = server
      .output()
      .split("\n")
      .filter((line) => line.includes("The collector takes no spans"));
    expect({ name, lines: lines.length }).toEqual({ name, lines: 1 });
    expect(server.output()).not.toContain("hush4711");
  }
}, 240_000);

test("nothing is sent without an address, and the headers are a secret", async () => {
  const collector = new Collector();
  const server = await start(collector, { telemetry: { url: undefined } });
  await post(`${server.url}/api/orders`, { name: "one" });
  await until(() => collector.calls.has("/queue"));
  expect(Number.isNaN(await metric(server, "socle_spans_sent_total"))).toBe(true);
  const registered = await post(`${server.url}/api/auth/register`, {
    email: "admin@example.com",
    password: "correct horse battery",
  });
  const { accessToken } = (await registered.json()) as { accessToken: string };
  const config = await fetch(`${server.url}/api/admin/config`, { headers: { authorization: `Bearer ${accessToken}` } });
  const text = await config.text();
  expect(text).toContain('"key":"telemetry.otlp.headers","value":null');
  expect(text).not.toContain("hush4711");
  await server.stop();
  expect(collector.requests).toBe(0);
});
