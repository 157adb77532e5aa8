/** Traces of the executable: whichever process or instance has taken the request, over a restart, and the command beside a service and without a service. */
import { expect, test } from "bun:test";
import type { TokenResponse, Trace, TraceSpan } from "@socle/protocol";
import { SocleClient } from "../packages/client/src/index.ts";
import { type Running, serve, singleService, socle, until } from "./kit.ts";
import { collection, scriptProject } from "./scripts-kit.ts";

const files = {
  "functions/items/note.ts": `export const onCreate = async ({ db, record }) => void (await db.collection("notes").create({ n: record.n }));`,
};
const json = { "Content-Type": "application/json", Connection: "close" };

async function adminOf({ url }: Running): Promise<SocleClient> {
  const body = JSON.stringify({ email: "listener@example.com", password: "correct horse battery" });
  for (const path of ["login", "register"]) {
    const answer = await fetch(`${url}/api/auth/${path}`, { method: "POST", headers: json, body });
    if (answer.ok) return new SocleClient({ baseUrl: url, tokens: (await answer.json()) as TokenResponse });
  }
  throw new Error("The admin cannot sign in");
}

/** Creates an item, and answers the id of the request. */
async function create({ url }: Running, n: number): Promise<string> {
  const answer = await fetch(`${url}/api/items`, { method: "POST", headers: json, body: JSON.stringify({ n }) });
  expect(answer.status).toBe(201);
  return answer.headers.get("x-request-id") ?? "";
}

function all(span: TraceSpan): TraceSpan[] {
  return [span, ...span.children.flatMap(all)];
}

const shown = ({ root }: Trace): string[] =>
  all(root).map(({ kind, name, status }) => (kind === "transaction" ? kind : `${kind} ${name} ${status}`));

const whole = [
  "request POST /api/items completed",
  "transaction",
  "event items.created completed",
  "function functions/items/note.ts:onCreate completed",
  "transaction",
  "event notes.created completed",
];

test("each request has a trace, also in reader processes and replicas", async () => {
  const cwd = await scriptProject({ collections: [collection("items"), collection("notes")], files });
  const server = await serve(cwd, { env: { SERVICE_PROCESSES: "3" } });
  const client = await adminOf(server);
  const ids = await Promise.all(Array.from({ length: 24 }, (_, n) => create(server, n)));
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    await until(async () => shown(await client.admin.trace(id)).join() === whole.join());
    expect((await client.admin.trace(id)).root.details).toMatchObject({ status: 201, by: null, traceparent: null });
  }
  // Each process has ids of its own.
  if (process.env["SOCLE_TEST_CLUSTER"] === undefined)
    expect(new Set(ids.map((id) => id.split("-")[0])).size).toBeGreaterThan(1);
});

test("the command prints the trace beside a service and without a service, which has the trace after a restart", async () => {
  singleService("database");
  const cwd = await scriptProject({ collections: [collection("items"), collection("notes")], files });
  const first = await serve(cwd);
  const client = await adminOf(first);
  const id = await create(first, 1);
  await until(async () => shown(await client.admin.trace(id)).join() === whole.join());
  const beside = await socle(["trace", id], { cwd });
  expect(beside.code).toBe(0);
  expect(beside.stdout.split("\n")).toHaveLength(whole.length + 1);
  expect(beside.stdout).toContain(`request POST /api/items (${id})\n`);
  const unknown = await socle(["trace", "none"], { cwd });
  expect([unknown.code, unknown.stdout]).toEqual([2, ""]);
  expect(unknown.stderr).toContain('No trace has the part "none"');
  await first.stop();

  const alone = await socle(["trace", id, "--json"], { cwd });
  expect(shown(JSON.parse(alone.stdout) as Trace)).toEqual(whole);
  expect((await socle(["trace", "none"], { cwd })).code).toBe(2);
  const second = await serve(cwd);
  const again = await adminOf(second);
  const trace = await again.admin.trace(id);
  expect(shown(trace)).toEqual(whole);
  expect(await again.admin.trace(all(trace.root).at(-1)?.id ?? "")).toEqual(trace);
});
