/**
 * Handlers that misbehave: the API answers all the while, the run has failed for a reason that is told, others go on.
 */
// Promises: U1.
import { describe, expect, test } from "bun:test";
import { isLong, peakMiB, post, serve, until } from "./kit.ts";
import { collection, RunEvents, scriptProject } from "./scripts-kit.ts";

/** Faults of handlers, and the message of each failure. */
const faults: { readonly [name: string]: readonly [code: string, reason: RegExp] } = {
  loop: ["while (true) {}", /timeout.*endless loop/],
  asyncLoop: ["while (true) await null;", /timeout.*endless loop/],
  allocate: ["const kept = []; while (true) kept.push(new Uint8Array(8_000_000).fill(1));", /scripts\.memory.*192 MiB/],
  exit: ["process.exit(0);", /process\.exit\(\) is not available.*exit\/exit\.ts:3:\d+/],
  abort: ["process.abort();", /process\.abort\(\) is not available/],
  killParent: ["process.kill(process.ppid, 'SIGKILL');", /process\.kill\(\) is not available/],
  killParentOutside: [
    "Bun.spawnSync(['kill', '-9', String(process.ppid)]); await new Promise(() => {});",
    /ended the process .*SIGKILL/,
  ],
  killGroup: ["Bun.spawnSync(['sh', '-c', 'kill -9 0']); await new Promise(() => {});", /ended the process .*SIGKILL/],
  later: [
    "setTimeout(() => { throw new Error('later'); }, 20);",
    /after the handler had returned: later.*later\/later\.ts:3:/,
  ],
  laterWhileRunning: [
    "setTimeout(() => { throw new Error('meanwhile'); }, 5); await Bun.sleep(500);",
    /Uncaught error.*meanwhile.*laterWhileRunning\/laterWhileRunning\.ts:3:/,
  ],
  rejection: [
    "Promise.reject(new Error('nobody listens'));",
    /Uncaught error.*nobody listens.*rejection\/rejection\.ts:3:/,
  ],
  lateRejection: [
    "setTimeout(async () => { throw new Error('too late'); }, 20);",
    /after the handler had returned: too late.*lateRejection\/lateRejection\.ts:3:/,
  ],
  socket: [
    "await new Promise((_, reject) => Bun.connect({ hostname: '127.0.0.1', port: context.record.n, socket: { data() {}, close: reject } }));",
    /longer than its timeout of 0.3 s/,
  ],
  inlined: [
    "const missing: any = (context.record as any).nothing;\n  const text = 'a';\n  return missing[text];",
    /missing\[text\].*inlined\/inlined\.ts:5:/,
  ],
  throwsNothing: ["throw undefined;", /undefined was thrown, which is no Error/],
  throwsProxy: ["throw new Proxy({}, { get() { throw new Error('trap'); } });", /./],
  deepError: ["throw Object.assign(new Error('x'.repeat(5_000_000)), { cause: 'y' });", /^x+… \(5000000 characters\)/],
  recursion: ["const again = (): number => 1 + again(); again();", /Maximum call stack/],
  floods: ["for (let n = 0; ; n++) console.log('line ' + n);", /timeout.*endless loop/],
  calls: ["for (;;) context.db.collection('good').list().catch(() => {});", /timeout|memory/],
  endlessQuery: [
    "await context.db.query('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n');",
    /longer than/,
  ],
  hugeBody: ["await context.db.collection('good').create({ n: 'x'.repeat(50_000_000) });", /limits\.body/],
  unhooks: [
    "process.removeAllListeners('message'); process.send = undefined; await new Promise(() => {});",
    /timeout|ended the process/,
  ],
};

/** Handlers that do something unusual and are not at fault. */
const harmless: { readonly [name: string]: string } = {
  returns50MB: "return 'x'.repeat(50_000_000);",
  prints1MB: "console.log('y'.repeat(1_000_000)); process.stdout.write('z'.repeat(1_000_000));",
};

function handler(code: string, timeout = "300ms"): string {
  return `export const options = { timeout: "${timeout}" };\nexport const onCreate = async (context: any) => {\n  ${code}\n};\n`;
}

const files: Record<string, string> = {
  "functions/good/ok.ts":
    "export const options = { timeout: '20s' };\nexport const onCreate = async ({ db }) => void (await db.collection('done').create({ n: 1 }));\n",
};
// Longer than the other handlers may run, so that this handler still runs when another handler ends the process.
files["functions/slow/slow.ts"] = `export const options = { timeout: "60s" };
export const onCreate = async () => {
  while (!(await Bun.file("looping").exists())) await Bun.sleep(5);
  await Bun.sleep(100);
};
`;
files["functions/lists/lists.ts"] = handler(
  "for (let n = 0; n < 100; n++) context.db.collection('large').list().catch(() => null); await Bun.sleep(1); while (true);",
);
files["functions/loopAgain/loopAgain.ts"] = handler("require('node:fs').writeFileSync('looping', ''); while (true) {}");
const codes = [...Object.entries(faults).map(([name, [code]]) => [name, code] as const), ...Object.entries(harmless)];
/** Whether a handler is to be late: another handler has time on a busy machine, too. */
const isLate = (name: string): boolean => /timeout|longer than/.test(faults[name]?.[1].source ?? "");
for (const [name, code] of codes) files[`functions/${name}/${name}.ts`] = handler(code, isLate(name) ? "300ms" : "20s");
const collections = ["good", "done", "slow", "loopAgain", "lists", ...codes.map(([name]) => name)].map(collection);
collections.push({ name: "large", fields: [{ name: "text", type: "text" }] });
const server = await serve(await scriptProject({ collections, files, scripts: { memory: "192MiB" } }));
const events = await RunEvents.of(server.url);

const latencies: number[] = [];

/** Sends one request after the other until the end. */
async function watchApi(): Promise<void> {
  for (;;) {
    const start = performance.now();
    const response = await fetch(`${server.url}/api/done`).catch(() => null);
    if (response?.status !== 200) return;
    await response.bytes();
    latencies.push(performance.now() - start);
    await Bun.sleep(30);
  }
}
watchApi();

/** The reason of a failure in the log; events carry the same words. */
async function failureOf(name: string): Promise<string> {
  const event = await events.first("function.failed", `functions/${name}/${name}.ts`);
  return String(event.payload["error"]);
}

/** Whether an unrelated handler runs. */
async function othersRun(): Promise<void> {
  const path = "functions/good/ok.ts";
  const ended = (): number => ["completed", "failed"].flatMap((end) => events.of(`function.${end}`, path)).length;
  const before = ended();
  expect((await post(`${server.url}/api/good`, { n: 1 })).status).toBe(201);
  await until(() => ended() > before);
  expect(events.of("function.failed", path)).toEqual([]);
}

describe("a handler at fault", () => {
  // A handler that holds the process up takes a core for three seconds; in the short form one handler shows that.
  const slow = ["asyncLoop", "floods", "unhooks"];
  const shown = Object.entries(faults).filter(([name]) => isLong || !slow.includes(name));

  test.each(shown)("%s", async (name, [, reason]) => {
    // A port that accepts and never says anything.
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const beside = othersRun();
    expect((await post(`${server.url}/api/${name}`, { n: silent.port })).status).toBe(201);
    const path = `functions/${name}/${name}.ts`;
    expect(await failureOf(name)).toMatch(reason);
    await beside;
    await othersRun();
    expect(events.of("function.failed", path)).toHaveLength(1);
    expect(events.of("function.started", path)).toHaveLength(1);
    expect(server.output()).toContain(`onCreate of ${path} failed: `);
    // The record stays saved.
    const list = (await (await fetch(`${server.url}/api/${name}`)).json()) as { items: unknown[] };
    expect(list.items).toHaveLength(1);
    silent.stop(true);
  });

  test("costs no other run of the same process", async () => {
    const path = "functions/slow/slow.ts";
    const slow = Array.from({ length: 4 }, (_, n) => post(`${server.url}/api/slow`, { n }));
    await Promise.all(slow);
    await until(() => events.of("function.started", path).length === slow.length);
    await post(`${server.url}/api/loopAgain`, { n: 1 });
    await until(() => events.of("function.completed", path).length === slow.length);
    expect(await failureOf("loopAgain")).toMatch(/endless loop/);
    expect(events.of("function.failed", path)).toEqual([]);
    expect(events.of("function.started", path)).toHaveLength(slow.length);
    expect(server.output()).toMatch(/lost: .*; 5 runs were in it, each is run again, alone/);
  });

  test("large responses wait until they are read", async () => {
    const text = "x".repeat(100_000);
    for (let n = 0; n < 40; n++) expect((await post(`${server.url}/api/large`, { text })).status).toBe(201);
    const before = await peakMiB(server);
    const peak = await peakMiB(server, async () => {
      await post(`${server.url}/api/lists`, { n: 1 });
      await failureOf("lists");
    });
    // A hundred lists of four megabytes, asked for at once, by code that then reads no list.
    expect(peak - before).toBeLessThan(150);
    await othersRun();
  });

  test.each(Object.keys(harmless))("%s is no fault", async (name) => {
    await post(`${server.url}/api/${name}`, { n: 1 });
    await events.first("function.completed", `functions/${name}/${name}.ts`);
    expect(events.of("function.failed", `functions/${name}/${name}.ts`)).toEqual([]);
  });

  test("the API has responded all the while, and its memory did not grow with the work of handlers", async () => {
    expect(latencies.length).toBeGreaterThan(100);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const sorted = latencies.toSorted((a, b) => a - b);
    console.log(
      `API beside faults: p50 ${sorted[sorted.length >> 1]?.toFixed(1)} ms, p99 ${sorted[Math.floor(sorted.length * 0.99)]?.toFixed(1)} ms, worst ${sorted.at(-1)?.toFixed(1)} ms`,
    );
    expect(await peakMiB(server)).toBeLessThan(300);
    const longest = Math.max(
      ...server
        .output()
        .split("\n")
        .map((line) => line.length),
    );
    expect(longest).toBeLessThan(40_000);
    expect(await server.stop()).toBe(0);
  });
});
