/** User code that loops for ever, over sockets: the other work of the same lane completes while the loop still runs. */
// Promises: U2.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { childrenOf } from "./bare-root.ts";
import { isLong, post, serve } from "./kit.ts";
import { collection, RunEvents, scriptProject } from "./scripts-kit.ts";

const open = 'export const access = "public";\n';
const note =
  "async ({ record, payload, db }) => void (await db.collection('done').create({ n: record?.n ?? payload }));\n";
/** Loops of each kind: more than the processes of a kind. */
const loops = isLong ? 8 : 3;
const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r";

const files = {
  "functions/loops/a.ts": "export const onCreate = () => { for (;;); };\n",
  "functions/calm/a.ts": `export const onCreate = ${note}`,
  "functions/hooked/a.ts": "export const beforeCreate = ({ record }) => { if (record.n === 1) for (;;); };\n",
  "endpoints/loop.ts": `${open}export const GET = () => { for (;;); };\n`,
  "endpoints/calm.ts": `${open}export const GET = () => new Response("calm");\n`,
  "endpoints/heavy.ts": `${open}export const GET = async (_, { db }) => Response.json(await db.query("${endless}"));\n`,
  "endpoints/light.ts": `${open}export const GET = async (_, { db }) => Response.json(await db.query("SELECT 1 AS one"));\n`,
  "endpoints/add.ts": `${open}export const POST = async (request, { jobs }) => {
    const { name, n } = await request.json();
    await jobs.enqueue(name, n);
    return new Response("added");
  };\n`,
  "jobs/loop.ts": "export const queue = {};\nexport default () => { for (;;); };\n",
  "jobs/calm.ts": `export const queue = {};\nexport default ${note}`,
};

/**
 * Sends a write again as long as the write is refused for now. A hook that has waited 5 s for a process is refused with 503 and
 * `Retry-After`: the machine had no core for the next process.
 */
async function untilAccepted(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await send();
    if (answer.status !== 503) return answer;
    expect(answer.headers.has("retry-after")).toBeTrue();
    await Bun.sleep(100);
  }
}

/** The niceness of the sessions of user code; empty where Linux does not share out the cores by sessions. */
function sessionsOfCode(service: number): number[] {
  return childrenOf(service).flatMap((pid) => {
    const path = `/proc/${pid}/autogroup`;
    const isCode = /^script-(host|query)$/m.test(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", "\n"));
    return isCode && existsSync(path) ? [Number(/nice (-?\d+)/.exec(readFileSync(path, "utf8"))?.[1])] : [];
  });
}

test("loops in a function, a queue, a hook, endpoints and db.query keep no other work waiting", async () => {
  const collections = ["loops", "calm", "hooked", "done"].map(collection);
  const cwd = await scriptProject({ collections, files, scripts: { timeout: "10m", hookTimeout: "10m" } });
  const server = await serve(cwd);
  const events = await RunEvents.of(server.url);
  const endpoint = (name: string): Promise<Response> => fetch(`${server.url}/api/function/${name}`);
  const done = async (): Promise<number[]> => {
    const { items } = (await (await fetch(`${server.url}/api/done`)).json()) as { items: { n: number }[] };
    return items.map(({ n }) => n).toSorted();
  };
  const leaving = new AbortController();
  const { signal } = leaving;
  const ended: string[] = [];
  const follow = (name: string, request: Promise<Response>): Promise<unknown> =>
    request.then(
      () => ended.push(name),
      () => undefined,
    );
  // A query ends after 30 s, which a busy machine may need for all of this; the caller asks again.
  const heavy = async (): Promise<Response> => {
    for (;;) {
      const answer = await fetch(`${server.url}/api/function/heavy`, { signal });
      if (answer.status !== 500) return answer;
    }
  };
  const looping = [
    ...Array.from({ length: loops }, () => follow("endpoint", fetch(`${server.url}/api/function/loop`, { signal }))),
    ...Array.from({ length: loops }, () => follow("query", heavy())),
    follow(
      "hook",
      fetch(`${server.url}/api/hooked`, {
        method: "POST",
        body: '{"n":1}',
        headers: { "Content-Type": "application/json" },
        signal,
      }),
    ),
  ];
  expect((await post(`${server.url}/api/loops`, { n: 1 })).status).toBe(201);
  await events.first("function.started", "functions/loops/a.ts");
  expect((await post(`${server.url}/api/calm`, { n: 1 })).status).toBe(201);
  for (const n of [2, 3]) expect((await untilAccepted(() => post(`${server.url}/api/hooked`, { n }))).status).toBe(201);
  expect(await (await endpoint("calm")).text()).toBe("calm");
  expect(await (await endpoint("light")).json()).toEqual([{ one: 1 }]);
  await events.first("function.completed", "functions/calm/a.ts");
  expect((await post(`${server.url}/api/function/add`, { name: "loop", n: 0 })).status).toBe(200);
  await events.first("job.started", "jobs/loop.ts");
  expect((await post(`${server.url}/api/function/add`, { name: "calm", n: 2 })).status).toBe(200);
  await events.first("job.completed", "jobs/calm.ts");
  expect(await done()).toEqual([1, 2]);
  // All of this while the loops went on.
  expect(ended).toEqual([]);
  // The sessions of the loops stand behind the session of the service, each process that has looped for long behind the others.
  const sessions = sessionsOfCode(server.pid);
  if (existsSync("/proc/self/autogroup")) expect(sessions.length).toBeGreaterThan(2 * loops);
  expect(sessions.filter((niceness) => ![5, 15].includes(niceness))).toEqual([]);
  expect(events.all.filter(({ type }) => type.endsWith(".failed"))).toEqual([]);
  leaving.abort();
  await Promise.all(looping);
  // A stop would wait for the loops.
  server.signal("SIGKILL");
  await server.exited;
});
