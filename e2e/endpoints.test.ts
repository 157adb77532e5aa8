/** Endpoints over sockets: bodies that stream, clients that leave, handlers that misbehave, and the rest of the API meanwhile. */
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isLong, patience, serve, until } from "./kit.ts";
import { collection, scriptProject, write } from "./scripts-kit.ts";

const open = 'export const access = "public";\n';
const hasty = `${open}export const options = { timeout: "700ms" };\n`;
const patient = `${open}export const options = { timeout: "60s" };\n`;
/** Endpoints that misbehave, each in a separate file, with the statuses that the caller may get. */
const faults: { readonly [name: string]: readonly [code: string, statuses: readonly number[]] } = {
  loop: ["while (true) {}", [504, 502]],
  asyncLoop: ["while (true) await null;", [504, 502]],
  exit: ["process.exit(0);", [500]],
  abort: ["process.abort();", [500]],
  killed: ["Bun.spawnSync(['sh', '-c', 'kill -9 ' + process.pid]); await new Promise(() => {});", [502]],
  memory: [
    "const kept = []; while (true) { kept.push(new Uint8Array(8_000_000).fill(1)); await Bun.sleep(1); }",
    [502, 504],
  ],
  // The previous endpoint may still end the process.
  never: ["await new Promise(() => {});", [504, 502]],
  later: ["setTimeout(() => { throw new Error('later'); }, 20); await Bun.sleep(300); return new Response('');", [500]],
  rejection: ["Promise.reject(new Error('nobody')); await Bun.sleep(200); return new Response('');", [500, 200]],
  deep: ["const again = () => 1 + again(); again();", [500]],
  rubbish: ["return 5;", [500]],
  floods: ["for (;;) console.log('flood');", [504, 502]],
  unhooks: [
    "process.removeAllListeners('message'); process.send = undefined; await new Promise(() => {});",
    [504, 502],
  ],
  headers: ["return new Response('', { headers: { 'x-a': 'a\\r\\nb: c' } });", [500]],
  killParent: ["process.kill(process.ppid, 'SIGKILL');", [500]],
  throwsNothing: ["throw undefined;", [500]],
  throwsProxy: ["throw new Proxy({}, { get() { throw new Error('trap'); } });", [500]],
  deepError: ["throw Object.assign(new Error('x'.repeat(5_000_000)), { cause: 'y' });", [500]],
  hugeBody: ["await context.db.collection('done').create({ n: 'x'.repeat(50_000_000) });", [413]],
  endlessQuery: [
    "await context.db.query('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n');",
    [504, 500],
  ],
  calls: ["for (;;) context.db.collection('done').list().catch(() => {});", [504, 502]],
  fakes: ["return Object.create(Response.prototype);", [500]],
  thenable: [
    "return { then(resolve: (value: Response) => void) { resolve(new Response('first')); resolve(new Response('second')); } };",
    [200],
  ],
  twice: ["const response = new Response('x'); await response.text(); return response;", [500]],
};

const files: Record<string, string> = {
  "functions/items/note.ts":
    "export const onCreate = async ({ db }) => void (await db.collection('done').create({ n: 1 }));\n",
  "endpoints/ok.ts": `${open}export const GET = () => new Response("ok");\nexport const POST = async (request: Request) => new Response(String((await request.bytes()).length));\n`,
  "endpoints/long.ts": `${open}export const GET = () => new Response("x".repeat(20_000));\n`,
  "endpoints/echo.ts": `${open}export const POST = (request: Request) => new Response(request.body);\n`,
  "endpoints/sleep.ts": `${patient}import { existsSync } from "node:fs";
    export const GET = async () => { while (!existsSync("morning")) await Bun.sleep(50); return new Response("slept"); };\n`,
  "endpoints/hasty.ts": `${hasty}export const POST = async (request: Request) => new Response(await request.text());\n`,
  "endpoints/careless.ts": `${hasty}export const POST = () => new Response("not read");\n`,
  "endpoints/ticks.ts": `${open}export const GET = (_: Request, { signal, logger }) => new Response(new ReadableStream({
    async pull(controller) {
      await Bun.sleep(50);
      if (signal.aborted) logger.info("ticks aborted");
      controller.enqueue(new TextEncoder().encode("tick\\n"));
    },
    cancel() { logger.info("ticks cancelled"); },
  }), { headers: { "Content-Type": "text/event-stream" } });\n`,
  "endpoints/silent.ts": `${hasty}export const GET = () => new Response(new ReadableStream({ start: () => new Promise(() => {}) }));\n`,
  "endpoints/broken-at-once.ts": `${open}export const GET = () => new Response(new ReadableStream({ pull() { throw new Error("at once"); } }));\n`,
  "endpoints/endless.ts": `${hasty}export const GET = () => new Response(new ReadableStream({ async pull(c) { await Bun.sleep(20); c.enqueue(new Uint8Array(10)); } }));\n`,
  "endpoints/breaks.ts": `${open}export const GET = () => new Response(new ReadableStream({ async pull(c) { c.enqueue(new Uint8Array(100_000)); await Bun.sleep(20); throw new Error("half way"); } }));\n`,
  "endpoints/gone.ts": `${open}export const GET = async (_: Request, { signal, logger }) => {
    const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
    logger.info("client waits");
    await gone;
    logger.info("client gone");
    return new Response("");
  };\n`,
};
// A handler that may not be late has time on a busy machine, too.
for (const [name, [code, statuses]] of Object.entries(faults))
  files[`endpoints/bad/${name}.ts`] =
    `${statuses.includes(504) ? hasty : patient}export const GET: Endpoint = async (_request, context) => {\n  ${code}\n};\n`;

const collections = ["items", "done"].map(collection);
const cwd = await scriptProject({ collections, files, scripts: { memory: "256MiB" } });
const server = await serve(cwd);
const url = `${server.url}/api/function`;
afterAll(() => server.stop());

async function othersAnswer(): Promise<void> {
  const body = JSON.stringify({ n: 1 });
  const headers = { "Content-Type": "application/json" };
  expect((await fetch(`${server.url}/api/items`, { method: "POST", headers, body })).status).toBe(201);
  expect((await fetch(`${server.url}/api/items`)).status).toBe(200);
}

/** Resolves when the process answers again. */
async function endpointsAnswer(): Promise<void> {
  for (const end = performance.now() + patience; performance.now() < end; await Bun.sleep(20)) {
    const answer = await fetch(`${url}/ok`);
    if (answer.status === 200 && (await answer.text()) === "ok") return;
  }
  throw new Error("Endpoints do not answer any more");
}

describe("streams", () => {
  test("megabytes go both ways, whole, without a copy in memory", async () => {
    const piece = crypto.getRandomValues(new Uint8Array(60_000));
    const body = new Uint8Array(8_000_000);
    for (let at = 0; at < body.length; at += piece.length) body.set(piece.subarray(0, body.length - at), at);
    const hash = Bun.hash(body);
    const whole = await (await fetch(`${url}/echo`, { method: "POST", body })).bytes();
    expect([whole.length, Bun.hash(whole)]).toEqual([body.length, hash]);
    const chunks = async function* () {
      for (let at = 0; at < body.length; at += 100_000) yield body.slice(at, at + 100_000);
    };
    const chunked = await (await fetch(`${url}/echo`, { method: "POST", body: chunks() })).bytes();
    expect([chunked.length, Bun.hash(chunked)]).toEqual([body.length, hash]);
    // From 15 KiB on, a response that was made as a whole leaves as a stream, too.
    const long = await fetch(`${url}/long`);
    expect([long.headers.get("transfer-encoding"), await long.text()]).toEqual(["chunked", "x".repeat(20_000)]);
    const tooLarge = await fetch(`${url}/ok`, { method: "POST", body: new Uint8Array(10 * 1024 ** 2 + 1) });
    expect(tooLarge.status).toBe(413);
  });

  test("responses begin before their end, and end when the client leaves", async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${url}/ticks`, { signal: leaving.signal });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const reader = answer.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toStartWith("tick");
    leaving.abort();
    await until(() => server.output().includes("ticks cancelled"));
  });

  test("an empty stream that fails is an error like any other", async () => {
    expect((await fetch(`${url}/silent`)).status).toBe(504);
    expect((await fetch(`${url}/broken-at-once`)).status).toBe(500);
  });

  test("endless streams are cut off at the timeout, failed streams break off: no client takes a part for the whole", async () => {
    for (const path of ["endless", "breaks"]) {
      const answer = await fetch(`${url}/${path}`);
      expect(answer.status).toBe(200);
      const error = await answer.bytes().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).not.toBeNull();
    }
    await until(() => server.output().includes("half way"));
  });
});

test("a request whose body never ends is over at the timeout, or at once if its handler does not read the body", async () => {
  for (const [path, status] of [
    ["hasty", 504],
    ["careless", 200],
  ] as const) {
    let isOver = false;
    const endless = async function* () {
      while (!isOver) {
        yield new Uint8Array(10);
        await Bun.sleep(50);
      }
    };
    const sending = fetch(`${url}/${path}`, { method: "POST", body: endless(), signal: AbortSignal.timeout(patience) });
    await endpointsAnswer();
    expect((await sending).status).toBe(status);
    isOver = true;
  }
  await othersAnswer();
});

test("a client that leaves aborts the signal", async () => {
  const leaving = new AbortController();
  const answer = fetch(`${url}/gone`, { signal: leaving.signal }).catch(() => null);
  await until(() => server.output().includes("client waits"));
  leaving.abort();
  expect(await answer).toBeNull();
  await until(() => server.output().includes("client gone"));
});

test("100 sleeping handlers keep no other request waiting", async () => {
  let awake = 0;
  const sleeping = Array.from({ length: 100 }, async () => {
    const text = await (await fetch(`${url}/sleep`)).text();
    awake += 1;
    return text;
  });
  for (let i = 0; i < 10; i++) {
    await endpointsAnswer();
    await othersAnswer();
  }
  expect(awake).toBe(0);
  await write(cwd, { morning: "" });
  expect(new Set(await Promise.all(sleeping))).toEqual(new Set(["slept"]));
});

test("1,000 at once get 1,000 responses", async () => {
  const answers = await Promise.all(Array.from({ length: 1_000 }, async () => (await fetch(`${url}/ok`)).status));
  expect(answers.filter((status) => status !== 200)).toEqual([]);
});

describe("faults", () => {
  // A handler that holds the process up takes a core for a second; in the short form one handler shows that, and "all at once" has each fault.
  const slow = ["asyncLoop", "floods", "calls", "unhooks"];
  const alone = Object.keys(faults).filter((name) => isLong || !slow.includes(name));

  test.each(alone)("%s", async (name) => {
    const [, statuses] = faults[name] ?? ["", []];
    const bad = fetch(`${url}/bad/${name}`);
    await othersAnswer();
    const answer = await bad;
    // The log says why a process has ended.
    const log = statuses.includes(answer.status) ? [] : [server.output().slice(-2_000)];
    expect([answer.status, ...log]).toEqual([answer.status]);
    if (answer.status !== 200) {
      const { error } = (await answer.json()) as { error: { code: string } };
      const codes: { readonly [status: number]: string } = { 413: "payload_too_large", 500: "internal_error" };
      expect(error.code).toBe(codes[answer.status] ?? "unavailable");
    }
    await endpointsAnswer();
  });

  test("all at once: each caller gets an error, and the rest of the API responds", async () => {
    let isOver = false;
    const watching = (async () => {
      for (; !isOver; await Bun.sleep(50)) await othersAnswer();
    })();
    const all = Object.entries(faults);
    const answers = await Promise.all(
      Array.from({ length: isLong ? 100 : all.length }, async (_, n) => {
        const [name = "", [, statuses = []] = []] = all[n % all.length] ?? [];
        const { status } = await fetch(`${url}/bad/${name}`);
        return { name, status, isKnown: [...statuses, 200, 500, 502, 504].includes(status) };
      }),
    );
    isOver = true;
    await watching;
    // An answer of the fault itself, or of a process that another fault has ended.
    expect(answers.filter(({ isKnown }) => !isKnown)).toEqual([]);
    await endpointsAnswer();
  });
});

test("a reload is a single moment: each response is of the old or of the new code, and no request fails", async () => {
  const code = (word: string): string =>
    `${open}export const GET = async () => { await Bun.sleep(5); return new Response("${word}"); };\n`;
  await write(cwd, { "endpoints/word.ts": code("old") });
  server.signal("SIGHUP");
  await until(async () => (await fetch(`${url}/word`)).status === 200);
  const words: string[] = [];
  let isOver = false;
  const asking = Array.from({ length: 8 }, async () => {
    while (!isOver) words.push(await (await fetch(`${url}/word`)).text());
  });
  await Bun.write(join(cwd, "endpoints/word.ts"), code("new"));
  server.signal("SIGHUP");
  await until(() => words.includes("new"));
  isOver = true;
  await Promise.all(asking);
  expect(new Set(words)).toEqual(new Set(["old", "new"]));
});
