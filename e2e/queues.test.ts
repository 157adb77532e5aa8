/** Queues under kill -9: acknowledged work is run after any kill, and runs with one key never overlap. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { isLong, serve, until } from "./kit.ts";
import { collection, killScripts, scriptProject } from "./scripts-kit.ts";

const admin = { email: "listener@example.com", password: "correct horse" };
const json = { "Content-Type": "application/json" };

/** Each run writes the payload twice: as the run begins and as the run ends. */
const work = `import { appendFileSync } from "node:fs";
export const queue = { concurrency: 8, retries: 20, backoff: "linear" };
export default async ({ payload }) => {
  appendFileSync("./trace.txt", payload.key + " begins " + payload.n + " " + process.pid + "\\n");
  await Bun.sleep(payload.n % 7);
  appendFileSync("./trace.txt", payload.key + " ends " + payload.n + " " + process.pid + "\\n");
};
`;

async function tokenOf(url: string): Promise<string> {
  const body = JSON.stringify(admin);
  for (const path of ["login", "register"]) {
    const answer = await fetch(`${url}/api/auth/${path}`, { method: "POST", headers: json, body });
    if (answer.ok) return ((await answer.json()) as { accessToken: string }).accessToken;
  }
  throw new Error("The admin cannot sign in");
}

/** Runs that are not over. */
function open(cwd: string): number {
  using database = new Database(join(cwd, "socle.db"), { readonly: true });
  const sql = "SELECT count(*) AS n FROM _job_queue WHERE failedAt IS NULL AND payload IS NOT NULL";
  return database.query<{ n: number }, []>(sql).get()?.n ?? 0;
}

test("killed while runs are enqueued and made: no run is lost, and no runs with the same key overlap", async () => {
  const random = randomNumbers(randomSeed("queues"));
  const cwd = await scriptProject({ collections: [collection("items")], files: { "jobs/work.ts": work } });
  const acknowledged: number[] = [];
  let n = 0;
  for (let round = 0; round < (isLong ? 12 : 4); round++) {
    const before = acknowledged.length;
    const server = await serve(cwd);
    const token = await tokenOf(server.url);
    let isOver = false;
    const send = async (): Promise<void> => {
      while (!isOver) {
        n += 1;
        const mine = n;
        const key = mine % 3 === 0 ? "k" : `single-${mine}`;
        const body = JSON.stringify({ payload: { n: mine, key }, ...(mine % 3 === 0 && { key }) });
        const headers = { ...json, Authorization: `Bearer ${token}` };
        const answer = await fetch(`${server.url}/api/admin/jobs/work/enqueue`, {
          method: "POST",
          headers,
          body,
        }).catch(() => null);
        if (answer?.status === 202 && mine % 3 !== 0) acknowledged.push(mine);
        // Each run that was enqueued has to end in the end.
        await Bun.sleep(20);
      }
    };
    const sending = [send(), send(), send(), send()];
    await until(() => acknowledged.length > before + 15);
    await Bun.sleep(random() * 400);
    await killScripts(server);
    await Bun.sleep(random() * 300);
    server.signal("SIGKILL");
    isOver = true;
    await server.exited;
    await Promise.all(sending);
  }
  await serve(cwd);
  await until(() => open(cwd) === 0);
  const lines = (await Bun.file(join(cwd, "trace.txt")).text())
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  const ended = new Set(lines.filter(([, step]) => step === "ends").map(([, , of]) => Number(of)));
  expect(acknowledged.length).toBeGreaterThan(50);
  expect(acknowledged.filter((each) => !ended.has(each))).toEqual([]);
  // A begin of the key is followed by the end, or, after a kill, by a begin in another process: the killed process
  // writes no more.
  const ofKey = lines.filter(([key]) => key === "k");
  const overlaps = ofKey.filter(([, step, of, pid], i) => {
    const next = ofKey[i + 1];
    if (step !== "begins" || next === undefined) return false;
    const isEnd = next[1] === "ends" && next[2] === of && next[3] === pid;
    return !isEnd && ofKey.slice(i + 1).some(([, , , other]) => other === pid);
  });
  expect(overlaps).toEqual([]);
  expect(ofKey.length).toBeGreaterThan(0);
});
