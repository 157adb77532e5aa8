/** The span exporter against an HTTP server on loopback: batches, and a collector that is away, slow, or refuses. */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { quietLogger, temporaryFolder } from "../../../test/kit.ts";
import { type Config, loadConfig } from "../../base/config/index.ts";
import { requestSpan } from "./otlp-spans.ts";
import { SpanExporter } from "./span-exporter.ts";

const folder = temporaryFolder();
const open: SpanExporter[] = [];
afterAll(async () => {
  await Promise.all(open.map((each) => each.stop(0)));
});

interface Received {
  readonly headers: Headers;
  readonly names: string[];
}

/** The lines of the log of an exporter. */
type Told = ConstructorParameters<typeof SpanExporter>[1]["logger"];

/** A collector with an answer to each batch. */
function collector(answer: (batch: Received, n: number) => Response | Promise<Response>) {
  const batches: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      expect(new URL(request.url).pathname).toBe("/v1/traces");
      const body = (await request.json()) as { resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[] };
      const names = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
      const batch = { headers: request.headers, names: names.map(({ name }) => name) };
      return answer(batch, batches.push(batch));
    },
  });
  afterAll(() => server.stop(true));
  return { batches, url: `http://127.0.0.1:${server.port}` };
}

async function exporter(
  url: string,
  { settings = {}, log = [] as string[], logger = quietLogger(log) as Told, timeFactor = 0.02 } = {},
) {
  const file = join(folder, "config.json");
  const headers = { authorization: "Bearer hush" };
  await Bun.write(file, JSON.stringify({ telemetry: { otlp: { url, headers } }, limits: { spans: 512 }, ...settings }));
  const { config }: { config: Config } = await loadConfig({ file, environment: {} });
  const made = new SpanExporter(url, { config, logger, timeFactor, version: "1.0.0" });
  open.push(made);
  return { log, made };
}

let count = 0;
function add(spans: SpanExporter, n: number): void {
  for (let i = 0; i < n; i++) {
    count += 1;
    const id = `b97090e4-${count.toString(36)}`;
    spans.add(requestSpan({ id, method: "GET", path: `/${i}`, status: 200, at: 1, ms: 2, caller: null, link: null }));
  }
}

async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!isSo()) {
    if (performance.now() > end) throw new Error("This did not happen");
    await Bun.sleep(2);
  }
}

test("spans go in batches, in order, with the headers of the configuration", async () => {
  const { batches, url } = collector(() => Response.json({}));
  const { log, made } = await exporter(url, { settings: { limits: { spans: 2_000 } } });
  add(made, 1_200);
  await until(() => made.totals.sent === 1_200);
  expect(batches.map(({ names }) => names.length)).toEqual([512, 512, 176]);
  expect(batches.flatMap(({ names }) => names)).toEqual(Array.from({ length: 1_200 }, (_, n) => `GET /${n}`));
  expect(batches[0]?.headers.get("authorization")).toBe("Bearer hush");
  expect(batches[0]?.headers.get("content-type")).toBe("application/json");
  expect(made.totals.dropped).toBe(0);
  expect(log).toEqual([]);
});

test("without a collector the queue is full, further spans are dropped and counted, and the log has a single line", async () => {
  const { log, made } = await exporter("http://127.0.0.1:1");
  for (let i = 0; i < 20; i++) {
    add(made, 100);
    await Bun.sleep(10);
  }
  expect(made.totals).toEqual({ sent: 0, dropped: 2_000 - 512 });
  expect(log).toHaveLength(1);
  expect(log[0]).toContain("The collector takes no spans");
  expect(log[0]).not.toContain("hush");
});

test("a collector that comes back gets each span that waited, once", async () => {
  const { batches, url } = collector((_, n) => (n < 4 ? new Response("", { status: 503 }) : Response.json({})));
  const { log, made } = await exporter(url);
  add(made, 3);
  await until(() => made.totals.sent === 3);
  expect(batches.map(({ names }) => names)).toEqual(Array.from({ length: 4 }, () => ["GET /0", "GET /1", "GET /2"]));
  expect(made.totals.dropped).toBe(0);
  expect(log.map((line) => line.includes("takes no spans"))).toEqual([true, false]);
  expect(log[1]).toContain("takes spans again");
});

test("each outage has a single warning, however many attempts fail, and a single line at the end", async () => {
  const isAway = (n: number): boolean => n < 5 || (n > 5 && n < 9);
  const { batches, url } = collector((_, n) => (isAway(n) ? new Response("", { status: 503 }) : Response.json({})));
  const told: string[] = [];
  // The logger leaves repeated warnings of a minute out, so the calls count, not the lines.
  const logger: Told = { often: () => told.push("away"), info: () => told.push("back") };
  const { made } = await exporter(url, { logger, timeFactor: 0.05 });
  for (const sent of [1, 2]) {
    add(made, 1);
    await until(() => made.totals.sent === sent);
  }
  expect(batches).toHaveLength(9);
  expect(told).toEqual(["away", "back", "away", "back"]);
});

test("a collector that never answers holds a single request, and a stop ends within the time", async () => {
  const never = Promise.withResolvers<Response>();
  const { batches, url } = collector(() => never.promise);
  // Without the bound of the stop, the wait for the answer would end the test.
  const { made } = await exporter(url, { timeFactor: 1_000 });
  add(made, 512);
  await until(() => batches.length === 1);
  add(made, 100);
  expect(made.totals.dropped).toBe(100);
  await made.stop(20);
  expect(made.totals).toEqual({ sent: 0, dropped: 612 });
  expect(batches).toHaveLength(1);
});

test("a slow collector is given up after the time of an answer, and asked again", async () => {
  const never = Promise.withResolvers<Response>();
  const { batches, url } = collector((_, n) => (n === 1 ? never.promise : Response.json({})));
  const { log, made } = await exporter(url);
  add(made, 1);
  await until(() => made.totals.sent === 1);
  expect(batches).toHaveLength(2);
  expect(log).toHaveLength(2);
});

test("a batch that the collector refuses is dropped, and not sent again", async () => {
  const { batches, url } = collector((_, n) => (n === 1 ? new Response("", { status: 500 }) : Response.json({})));
  const { log, made } = await exporter(url);
  add(made, 2);
  await until(() => made.totals.dropped === 2);
  add(made, 1);
  await until(() => made.totals.sent === 1);
  expect(batches.map(({ names }) => names.length)).toEqual([2, 1]);
  expect(log.map((line) => line.includes("takes no spans"))).toEqual([true, false]);
});

test("a collector for which a batch is too large gets smaller batches", async () => {
  const { batches, url } = collector(({ names }) =>
    names.length > 100 ? new Response("", { status: 413 }) : Response.json({}),
  );
  const { log, made } = await exporter(url);
  add(made, 512);
  await until(() => made.totals.sent === 512);
  expect(batches.map(({ names }) => names.length)).toEqual([512, 256, 128, 64, 64, 64, 64, 64, 64, 64, 64]);
  expect(made.totals.dropped).toBe(0);
  expect(log).toEqual([]);
});

test("a single span that is too large is dropped", async () => {
  const { batches, url } = collector(() => new Response("", { status: 413 }));
  const { made } = await exporter(url);
  add(made, 3);
  await until(() => made.totals.dropped === 3);
  expect(batches.map(({ names }) => names.length)).toEqual([3, 2, 1, 1, 1]);
});

test("spans that the collector rejects count as dropped", async () => {
  const { url } = collector(() => Response.json({ partialSuccess: { rejectedSpans: "2", errorMessage: "too old" } }));
  const { log, made } = await exporter(url);
  add(made, 5);
  await until(() => made.totals.sent === 3);
  expect(made.totals.dropped).toBe(2);
  expect(log).toHaveLength(1);
});

test.each(["", "null", '{"partialSuccess":{"rejectedSpans":"some"}}'])(
  "the answer %j rejects no span",
  async (text) => {
    const { url } = collector(() => new Response(text));
    const { made } = await exporter(url);
    add(made, 2);
    await until(() => made.totals.sent === 2);
    expect(made.totals).toEqual({ sent: 2, dropped: 0 });
  },
);

test("a redirect is not followed: another address does not get the headers", async () => {
  const other = collector(() => Response.json({}));
  const { url } = collector(() => Response.redirect(`${other.url}/v1/traces`, 307));
  const { made } = await exporter(url);
  add(made, 1);
  await until(() => made.totals.dropped === 1);
  expect(other.batches).toEqual([]);
});

test("a stop sends the spans that wait, and later spans are dropped", async () => {
  const { batches, url } = collector(() => Response.json({}));
  const { made } = await exporter(url, { timeFactor: 1_000 });
  add(made, 3);
  await made.stop(10_000);
  expect(batches.map(({ names }) => names.length)).toEqual([3]);
  add(made, 1);
  expect(made.totals).toEqual({ sent: 3, dropped: 1 });
});

test("spans of traces that are not recorded do not go to the collector", async () => {
  const { batches, url } = collector(() => Response.json({}));
  const { made } = await exporter(url, { settings: { telemetry: { otlp: { url, sample: 0 } } } });
  add(made, 10);
  const link = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
  const request = { method: "GET", path: "/linked", status: 200, at: 1, ms: 2, caller: null };
  made.add(requestSpan({ ...request, id: "b97090e4-1", link }));
  made.add(requestSpan({ ...request, id: "b97090e4-2", link: `${link}-00` }));
  await made.stop(10_000);
  expect(batches.flatMap(({ names }) => names)).toEqual(["GET /linked"]);
  expect(made.totals).toEqual({ sent: 1, dropped: 0 });
});
