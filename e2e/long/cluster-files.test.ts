/** Two versions of the project folder in a cluster: an instance whose files were superseded follows, never leads, and drops nothing. */
import { expect, test } from "bun:test";
import { openFile } from "../cluster-content.ts";
import { startCluster, type TestInstance } from "../cluster-kit.ts";
import { patience, post, singleService } from "../kit.ts";
import { runCommand } from "../service-process.ts";

singleService("cluster");

const open = { read: "public", create: "public" };
const fieldsOf = (...names: string[]): string =>
  JSON.stringify({ name: "posts", fields: names.map((name) => ({ name, type: "string" })), permissions: open });
const definition = "collections/posts.json";
const cluster = await startCluster(3, { files: { [definition]: fieldsOf("title") } });

/** The columns of the collection in the file of an instance. */
function columnsOf(instance: TestInstance): string[] {
  using file = openFile(instance);
  const columns = file.query<{ name: string }, []>("SELECT name FROM pragma_table_info('posts')").all();
  return columns.map(({ name }) => name).filter((name) => name === "title" || name === "phone");
}

async function status({ folder, env }: TestInstance): Promise<{
  leader: string | null;
  instances: { address: string; files: string; problem: string | null; isLive: boolean }[];
}> {
  const { stdout } = await runCommand(["cluster", "status", "--json"], { cwd: folder, env: { ...env } });
  return JSON.parse(stdout);
}

async function isReady({ url }: TestInstance): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    ({ status: code }) => code === 200,
    () => false,
  );
}

async function eventually(condition: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + patience;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited too long: ${what}`);
    await Bun.sleep(200);
  }
}

test("an instance with superseded files follows and never leads; the way back is a command", async () => {
  const old = await cluster.leader();
  const [first, second] = await cluster.replicas();
  if (first === undefined || second === undefined) throw new Error("no replica");
  // The deployment of new files: the replicas first, then the leader stops.
  for (const each of [first, second]) {
    expect(await each.running.stop()).toBe(0);
    await Bun.write(`${each.folder}/${definition}`, fieldsOf("title", "phone"));
    await each.start();
    expect(await cluster.leader()).toBe(old);
    expect(columnsOf(old)).toEqual(["title"]);
  }
  expect(await old.running.stop()).toBe(0);
  // On a busy machine, the first leader may lose the lease before the leader is ready.
  let leader = old;
  await eventually(async () => {
    leader = await cluster.leader();
    return leader !== old && (await isReady(leader));
  }, "a new leader with the new files is ready");
  expect((await status(first)).leader).toBe(leader.url);
  const other = leader === first ? second : first;
  const created = await post(`${leader.url}/api/posts`, { title: "a", phone: "123" });
  expect(created.status).toBe(201);

  // The old leader comes back with the old files.
  await old.start();
  const warning = /WARN .*were superseded.*socle cluster lead \S+ --with-its-files/;
  await eventually(async () => warning.test(old.running.output()), "the warning");
  expect(await cluster.leader()).toBe(leader);
  await eventually(() => isReady(old), "the old instance follows");
  expect((await fetch(`${old.url}/api/posts`)).status).toBe(200);
  await eventually(async () => {
    const { instances } = await status(leader);
    const own = instances.find(({ address }) => address === old.url);
    return (
      own?.problem?.includes("superseded") === true &&
      own.files !== instances.find(({ problem }) => problem === null)?.files
    );
  }, "the status");

  // At a failover, the other instance with the new files leads.
  leader.running.signal("SIGKILL");
  await leader.running.exited;
  await eventually(async () => (await cluster.leader()) === other, "the other instance leads");
  await eventually(() => isReady(other), "the other instance is ready");
  expect(columnsOf(other)).toEqual(["title", "phone"]);

  // Alone, the instance with the old files leads not at all.
  other.running.signal("SIGKILL");
  await other.running.exited;
  const client = cluster.engine.client();
  await eventually(
    async () => (await client`SELECT 1 FROM socle_leader WHERE expires > now()`).length === 0,
    "no lease",
  );
  for (let look = 0; look < 30; look++) {
    expect(await client`SELECT 1 FROM socle_leader WHERE expires > now()`).toHaveLength(0);
    await Bun.sleep(100);
  }
  expect(columnsOf(old)).toEqual(["title", "phone"]);

  // Back to the old files, on purpose.
  await other.start();
  await eventually(async () => (await cluster.leader()) === other, "an instance leads again");
  await eventually(() => isReady(old), "the old instance is ready");
  const command = (...args: string[]) =>
    runCommand(["cluster", "lead", ...args], { cwd: old.folder, env: { ...old.env } });
  const refused = await command(old.url);
  expect([refused.code, columnsOf(old)]).toEqual([2, ["title", "phone"]]);
  expect(refused.stderr).toMatch(/may not lead: the files of the project folder \(\w+\) were superseded/);
  expect(await cluster.leader()).toBe(other);
  expect((await command("http://nowhere", "--with-its-files")).stderr).toContain("is no running instance");
  const { code, stdout } = await command(old.url, "--with-its-files");
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^The files [0-9a-f]{12} are in force\.\n\S+ leads; writes were paused for /),
  ]);
  await eventually(async () => (await cluster.leader()) === old, "the old instance leads");
  await eventually(async () => columnsOf(old).length === 1, "the column is dropped on purpose");
  expect(other.running.output()).toContain("superseded");
});
