/** Hooks over sockets: hooks that misbehave, and kills of the process and of the service. A write is whole, or absent. */
import { afterAll, describe, expect, test } from "bun:test";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { isLong, patience, post, type Running, serve, until } from "./kit.ts";
import { collection, killScripts, scriptProject } from "./scripts-kit.ts";

interface Named {
  readonly title: string;
  readonly slug: string | null;
}

const named = {
  name: "named",
  fields: [
    { name: "title", type: "string", unique: true },
    { name: "slug", type: "string" },
  ],
};

async function all(server: Running): Promise<Named[]> {
  return ((await (await fetch(`${server.url}/api/named`)).json()) as { items: Named[] }).items;
}

test("killed while hooks decide: a write is whole or refused with 503, and the service goes on", async () => {
  const random = randomNumbers(randomSeed("hooks"));
  const hook = `export const beforeCreate = async ({ record }) => {
    await Bun.sleep(record.title.length % 5);
    return { slug: "of " + record.title };
  };\n`;
  const cwd = await scriptProject({ collections: [named], files: { "functions/named/a.ts": hook } });
  const written = new Set<string>();
  const refused = new Set<string>();
  let n = 0;
  /** Creates a record, or two in a batch, until the load is over. Without an answer the records may be written or not. */
  const write = async (url: string, isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      n += 1;
      const titles = n % 3 === 0 ? [`a${n}`, `b${n}`] : [`c${n}`];
      const operations = titles.map((title) => ({ method: "create", collection: "named", body: { title } }));
      const [only] = titles;
      const answer = await (titles.length === 1
        ? post(`${url}/api/named`, { title: only })
        : post(`${url}/api/batch`, { operations })
      ).catch(() => null);
      const text = await answer?.text().catch(() => null);
      await Bun.sleep(5);
      if (answer === null || text === null || text === undefined) continue;
      expect([200, 201, 503]).toContain(answer.status);
      if (answer.status === 503) expect(JSON.parse(text)).toMatchObject({ error: { code: "unavailable" } });
      for (const title of titles) (answer.status === 503 ? refused : written).add(title);
    }
  };
  for (let round = 0; round < (isLong ? 3 : 2); round++) {
    const server = await serve(cwd);
    let isOver = false;
    const writers = Array.from({ length: isLong ? 8 : 4 }, () => write(server.url, () => isOver));
    for (let kills = 0; kills < (isLong ? 6 : 2); kills++) {
      await Bun.sleep(random() * 150);
      await killScripts(server);
    }
    const before = written.size;
    // The next process answers.
    await until(() => written.size > before + 10);
    server.signal("SIGKILL");
    isOver = true;
    await Promise.all([server.exited, ...writers]);
  }
  const server = await serve(cwd);
  const records = await all(server);
  const titles = new Set(records.map(({ title }) => title));
  // Every record has the slug that the hook returned.
  expect(records.filter(({ title, slug }) => slug !== `of ${title}`)).toEqual([]);
  expect([...written].filter((title) => !titles.has(title))).toEqual([]);
  expect([...refused].filter((title) => titles.has(title))).toEqual([]);
  // After a batch without an answer, both records exist or neither does.
  const halves = [...titles].filter((title) => /^[ab]/.test(title));
  const other = (title: string): string => `${title.startsWith("a") ? "b" : "a"}${title.slice(1)}`;
  expect(halves.filter((title) => !titles.has(other(title)))).toEqual([]);
  expect(written.size).toBeGreaterThan(20);
  expect((await post(`${server.url}/api/named`, { title: "after" })).status).toBe(201);
  expect(await server.stop()).toBe(0);
});

/** Hooks that misbehave; the caller gets 503, or 201 when the fault does no harm to the write. */
const faults: { readonly [name: string]: readonly [code: string, statuses: readonly number[]] } = {
  loop: ["while (true) {}", [503]],
  asyncLoop: ["while (true) await null;", [503]],
  exit: ["process.exit(0);", [503]],
  exitOutside: ["process.reallyExit(1);", [503]],
  abort: ["process.abort();", [503]],
  killed: ["Bun.spawnSync(['sh', '-c', 'kill -9 ' + process.pid]); await new Promise(() => {});", [503]],
  killParent: ["process.kill(process.ppid, 'SIGKILL');", [503]],
  memory: [
    "const kept = []; while (true) { kept.push(new Uint8Array(8_000_000).fill(1)); await Bun.sleep(1); }",
    [503],
  ],
  never: ["await new Promise(() => {});", [503]],
  deep: ["const again = () => 1 + again(); again();", [503]],
  floods: ["for (;;) console.log('flood');", [503]],
  calls: ["for (;;) context.db.collection('plain').list().catch(() => {});", [503]],
  endlessQuery: [
    "await context.db.query('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n');",
    [503],
  ],
  unhooks: ["process.removeAllListeners('message'); process.send = undefined; await new Promise(() => {});", [503]],
  text: ["return 'yes';", [503]],
  list: ["return [];", [503]],
  circle: ["const a: { a?: object } = {}; a.a = a; return a;", [503]],
  huge: ["return { title: 'x'.repeat(50_000_000) };", [503]],
  throwsNothing: ["throw undefined;", [503]],
  throwsProxy: ["throw new Proxy({}, { get() { throw new Error('trap'); } });", [503]],
  falseRefusal: ["throw Object.assign(Object.create(Refusal.prototype), { status: 201, message: 5 });", [400, 503]],
  thenable: [
    "return { then(resolve: (value: unknown) => void) { resolve({}); resolve(5); throw new Error('after'); } };",
    [201],
  ],
  rejection: ["Promise.reject(new Error('nobody')); await Bun.sleep(100);", [201, 503]],
  later: ["setTimeout(() => { throw new Error('later'); }, 20); await Bun.sleep(100);", [201, 503]],
  prototype: ['return JSON.parse(\'{ "__proto__": { "n": 5 } }\');', [201, 400]],
};

describe("a hook that misbehaves", async () => {
  const files: Record<string, string> = {
    "functions/plain/note.ts": "export const onCreate = async ({ logger }) => logger.info('noted');\n",
    "functions/good/a.ts": "export const beforeCreate = () => ({ n: 7 });\n",
    "endpoints/ok.ts": 'export const access = "public";\nexport const GET = () => new Response("ok");\n',
  };
  for (const [name, [code]] of Object.entries(faults))
    files[`functions/${name}/a.ts`] =
      `export const beforeCreate: BeforeCreate<"${name}"> = async (context) => {\n  ${code}\n};\n`;
  const collections = ["plain", "good", ...Object.keys(faults)].map(collection);
  const scripts = { memory: "256MiB", hookTimeout: "500ms" };
  const server = await serve(await scriptProject({ collections, files, scripts }));
  afterAll(() => server.stop());

  /** Writes without hooks, reads, functions and endpoints. */
  async function othersAnswer(): Promise<void> {
    expect((await post(`${server.url}/api/plain`, { n: 1 })).status).toBe(201);
    expect((await fetch(`${server.url}/api/plain?limit=1`)).status).toBe(200);
    expect(await (await fetch(`${server.url}/api/function/ok`)).text()).toBe("ok");
  }

  /** Resolves when healthy hooks answer again, in a new process. */
  async function hooksAnswer(): Promise<void> {
    for (const end = performance.now() + patience; performance.now() < end; await Bun.sleep(20)) {
      const answer = await post(`${server.url}/api/good`, {});
      if (answer.status === 201 && ((await answer.json()) as { n: number }).n === 7) return;
    }
    throw new Error("Hooks do not answer any more");
  }

  // A hook that holds the process up takes a core for a second; in the short form one hook shows that, and "all at once" has each fault.
  const slow = ["asyncLoop", "floods", "calls", "unhooks", "endlessQuery"];
  const alone = Object.keys(faults).filter((name) => isLong || !slow.includes(name));

  test.each(alone)("%s", async (name) => {
    const [, statuses] = faults[name] ?? ["", []];
    const bad = post(`${server.url}/api/${name}`, { n: 1 });
    await othersAnswer();
    const answer = await bad;
    expect(statuses).toContain(answer.status);
    const body = (await answer.json()) as { n?: number; error?: { code: string } };
    if (answer.status === 503) expect(body.error?.code).toBe("unavailable");
    const { items } = (await (await fetch(`${server.url}/api/${name}`)).json()) as { items: { n: number }[] };
    expect(items.map(({ n }) => n)).toEqual(answer.status === 201 ? [1] : []);
    await hooksAnswer();
  });

  test("all at once: each caller gets a response, and the rest of the API responds", async () => {
    let isOver = false;
    const watching = (async () => {
      for (; !isOver; await Bun.sleep(50)) await othersAnswer();
    })();
    const names = Object.keys(faults);
    const statuses = await Promise.all(
      Array.from({ length: isLong ? 200 : names.length }, async (_, i) => {
        const name = names[i % names.length];
        return [name, (await post(`${server.url}/api/${name}`, { n: i })).status] as const;
      }),
    );
    isOver = true;
    await watching;
    // A healthy hook may be refused together with a faulty hook: both share a process.
    const strange = statuses.filter(([name, status]) => ![503, ...(faults[name ?? ""]?.[1] ?? [])].includes(status));
    expect(strange).toEqual([]);
    await hooksAnswer();
  });

  test("many at once each get a response", async () => {
    const answers = await Promise.all(
      Array.from({ length: isLong ? 1_000 : 300 }, async () => (await post(`${server.url}/api/good`, {})).status),
    );
    expect(answers.filter((status) => status !== 201)).toEqual([]);
  });
});
