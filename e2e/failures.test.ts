/** The inbox of failures of a service: a retry that a kill interrupts, the command beside a service and without a service, and groups of an earlier version. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { FailureGroup, FailurePage } from "@socle/protocol";
import { serve, singleService, socle, until } from "./kit.ts";
import { collection, scriptProject, write } from "./scripts-kit.ts";

const admin = { email: "listener@example.com", password: "correct horse" };
const json = { "Content-Type": "application/json" };

/** Fails until the file `mended` is there; then each run waits for the file `go`, and writes the record. */
const notify = `import { appendFileSync, existsSync } from "node:fs";
export const options = { retries: 0, timeout: "60s" };
export const onCreate = async ({ record }) => {
  if (!existsSync("./mended")) throw new Error("no letter for " + record.n);
  while (!existsSync("./go")) await Bun.sleep(5);
  appendFileSync("./sent.txt", record.n + "\\n");
};
`;
const runs = 250;

async function signIn(url: string): Promise<Record<string, string>> {
  const body = JSON.stringify(admin);
  for (const path of ["login", "register"]) {
    const answer = await fetch(`${url}/api/auth/${path}`, { method: "POST", headers: json, body });
    if (!answer.ok) continue;
    const { accessToken } = (await answer.json()) as { accessToken: string };
    return { ...json, Authorization: `Bearer ${accessToken}` };
  }
  throw new Error("The admin cannot sign in");
}

async function groups(url: string, headers: Record<string, string>): Promise<FailurePage> {
  return (await (await fetch(`${url}/api/admin/failures`, { headers })).json()) as FailurePage;
}

async function failingProject(): Promise<string> {
  return scriptProject({ collections: [collection("items")], files: { "functions/items/notify.ts": notify } });
}

async function fail(url: string, headers: Record<string, string>): Promise<FailureGroup> {
  const operations = Array.from({ length: runs }, (_, n) => ({ method: "create", collection: "items", body: { n } }));
  await fetch(`${url}/api/batch`, { method: "POST", headers, body: JSON.stringify({ operations }) });
  await until(async () => (await groups(url, headers)).items[0]?.count === runs);
  const { items } = await groups(url, headers);
  expect(items).toHaveLength(1);
  return items[0] as FailureGroup;
}

async function sent(cwd: string): Promise<number[]> {
  const lines = (await Bun.file(join(cwd, "sent.txt")).text()).trim().split("\n");
  return lines.map(Number).sort((a, b) => a - b);
}

const all = Array.from({ length: runs }, (_, n) => n);

test("a retry of many runs goes on after a kill -9, and no run is lost", async () => {
  singleService("faults");
  const cwd = await failingProject();
  const first = await serve(cwd);
  const headers = await signIn(first.url);
  const { id } = await fail(first.url, headers);
  await write(cwd, { mended: "" });
  const answer = await fetch(`${first.url}/api/admin/failures/${id}/retry`, { method: "POST", headers });
  expect(answer.status).toBe(202);
  first.signal("SIGKILL");
  await first.exited;
  await write(cwd, { go: "" });
  const second = await serve(cwd);
  const again = await signIn(second.url);
  await until(async () => (await groups(second.url, again)).items[0]?.retry?.status === "completed");
  const [group] = (await groups(second.url, again)).items;
  expect(group?.retry).toMatchObject({ total: runs, done: runs, failed: 0, error: null });
  // A run that the kill has cut off is made again.
  expect([...new Set(await sent(cwd))]).toEqual(all);
  expect(group?.count).toBe(runs);
});

test("the command lists, mutes and resolves beside a service and without a service; a retry without a service begins with the next start", async () => {
  singleService("database");
  const cwd = await failingProject();
  const first = await serve(cwd);
  const { id } = await fail(first.url, await signIn(first.url));
  const table = await socle(["failures"], { cwd });
  expect(table.code).toBe(0);
  expect(table.stdout).toContain("functions/items/notify.ts:4");
  expect(table.stdout).toContain("no letter for …");
  const status = await socle(["status"], { cwd });
  expect([status.code, status.stdout]).toEqual([1, expect.stringContaining("warning  1 cause of failures is open")]);
  expect((await socle(["failures", "mute", id], { cwd })).stdout).toBe(`${id} is muted\n`);
  expect((await socle(["status"], { cwd })).code).toBe(0);
  await first.stop();
  expect((await socle(["status"], { cwd })).stderr).toContain("no service runs");

  const [listed] = JSON.parse((await socle(["failures", "--json"], { cwd })).stdout) as FailureGroup[];
  expect(listed).toMatchObject({ id, kind: "function", count: runs, status: "muted", canRetry: true, retry: null });
  expect((await socle(["failures", "resolve", id], { cwd })).stdout).toBe(`${id} is resolved\n`);
  const unknown = await socle(["failures", "mute", "flr_none"], { cwd });
  expect([unknown.code, unknown.stdout]).toEqual([2, ""]);
  expect(unknown.stderr).toContain('No group of failures has the id "flr_none"');
  const retried = await socle(["failures", "retry", id], { cwd });
  expect(retried.stdout).toBe(`${runs} runs of ${id} will run again, once the service serves\n`);
  expect((await socle(["failures", "retry", id], { cwd })).code).toBe(2);

  await write(cwd, { mended: "", go: "" });
  const second = await serve(cwd);
  const headers = await signIn(second.url);
  await until(async () => (await groups(second.url, headers)).items[0]?.retry?.status === "completed");
  // No kill: each run has run once.
  expect(await sent(cwd)).toEqual(all);
  const [group] = (await groups(second.url, headers)).items;
  expect(group).toMatchObject({ status: "resolved", seenAgain: false, count: runs });
  const path = `${second.url}/api/admin/events?type=admin.failure.*`;
  const { items } = (await (await fetch(path, { headers })).json()) as { items: { type: string; actor: unknown }[] };
  expect(items.map(({ type, actor }) => [type, actor])).toEqual(
    ["retried", "resolved", "muted"].map((deed) => [`admin.failure.${deed}`, null]),
  );
});

test("failures of an earlier version are grouped at the first start", async () => {
  singleService("database");
  const cwd = await failingProject();
  const first = await serve(cwd);
  const { id } = await fail(first.url, await signIn(first.url));
  await first.stop();
  const database = new Database(join(cwd, "socle.db"));
  for (const table of ["_failure_groups", "_failure_retries", "_failure_upgrade"]) database.run(`DROP TABLE ${table}`);
  database.run("DELETE FROM _schema WHERE module = 'failures'");
  database.close();
  const second = await serve(cwd);
  const { items, open } = await groups(second.url, await signIn(second.url));
  expect(items.map((group) => [group.id, group.count, group.status])).toEqual([[id, runs, "open"]]);
  expect(open).toBe(1);
});

test("failures are in the groups whichever process or instance has taken the request", async () => {
  const cwd = await scriptProject({
    collections: [collection("items")],
    files: {
      "functions/items/notify.ts": notify,
      "functions/items/check.ts":
        'export const beforeUpdate = ({ record }) => {\n  throw new Error("no check of " + record.id);\n};\n',
      "endpoints/pay.ts":
        'export const access = "public";\nexport const GET = () => {\n  throw new Error("the bank is away");\n};\n',
      "queries/total.ts":
        'export default query({ access: "public" }, () => {\n  throw new Error("no total " + 7);\n});\n',
    },
  });
  const { url } = await serve(cwd);
  const headers = await signIn(url);
  for (let n = 0; n < 9; n++) {
    // Each request has a connection of its own, so that the processes share the requests.
    const own = { headers: { ...headers, Connection: "close" } };
    const body = JSON.stringify({ n });
    const made = await fetch(`${url}/api/items`, { method: "POST", body, ...own });
    const { id } = (await made.json()) as { id: string };
    expect((await fetch(`${url}/api/items/${id}`, { method: "PUT", body, ...own })).status).toBe(503);
    expect((await fetch(`${url}/api/function/pay`, own)).status).toBe(500);
    expect((await fetch(`${url}/api/query/total`, own)).status).toBe(500);
  }
  await until(async () => (await groups(url, headers)).items.reduce((sum, { count }) => sum + count, 0) === 36);
  const { items, open } = await groups(url, headers);
  expect(open).toBe(4);
  expect(items.map(({ kind, count, message }) => `${kind} ${count} ${message}`).sort()).toEqual([
    "endpoint 9 the bank is away",
    "function 9 no letter for …",
    "hook 9 no check of …",
    "query 9 no total …",
  ]);
});
