/** The continuous backup with the executable: restored moments, gaps after a kill, two services with one place, a store that is away, damage. */
import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newAgeKey } from "../packages/server/test/age-key.ts";
import { startS3 } from "../packages/server/test/s3-server.ts";
import {
  add,
  behind,
  itemProject,
  listed,
  numbers,
  prefixIn,
  restored,
  segmentPath,
  signIn,
  textOfFile,
  untilAllLeft,
  upload,
  withPlace,
  withStore,
} from "./continuous-kit.ts";
import { serve, singleService, socle, temporaryFolder, until } from "./kit.ts";

singleService("restore");
const s3 = await startS3();
/** The place of the first test, which later tests read and damage as copies. */
const place = join(temporaryFolder(), "live");
let middle = { position: 0, at: 0 };
let files: string[] = [];

function copyOfPlace(): string {
  const copy = join(temporaryFolder(), "live");
  cpSync(place, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

test("a service that is lost comes back with all records and files, and as of an earlier moment", async () => {
  const server = await serve(await itemProject(), { env: withPlace(place) });
  const { url } = server;
  const token = await signIn(url);
  files = [await upload(url, token, "kept"), await upload(url, token, "deleted later")];
  for (let n = 0; n < 10; n++) await add(url, n, files[n % 2] ?? null);
  await untilAllLeft(server);
  const { last } = await listed(place);
  middle = { position: last.last, at: Date.now() };
  await Bun.sleep(5);
  await fetch(`${url}/api/storage/${files[1]}`, { method: "DELETE", headers: { Authorization: `Bearer ${token}` } });
  for (let n = 10; n < 20; n++) {
    await add(url, n);
    // Each write is a segment.
    if (n > 15) await untilAllLeft(server);
  }
  expect(await server.stop()).toBe(0);

  // On an empty folder.
  const empty = await itemProject();
  const second = await serve(empty, { args: ["serve", "--from", place] });
  expect(await numbers(second.url)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(await textOfFile(second.url, files[0] ?? "")).toBe("kept");
  expect(await textOfFile(second.url, files[1] ?? "")).toBeNull();
  expect(await second.stop()).toBe(0);
  const again = await socle(["serve", "--from", place], { cwd: empty });
  expect([again.code, again.stderr + again.stdout]).toEqual([
    2,
    expect.stringContaining("begins on an empty folder alone"),
  ]);

  for (const at of [String(middle.position), new Date(middle.at).toISOString()]) {
    const earlier = await serve(await restored(place, ["--at", at]));
    expect(await numbers(earlier.url)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await textOfFile(earlier.url, files[1] ?? "")).toBe("deleted later");
    expect(await earlier.stop()).toBe(0);
  }
});

test("socle verify and socle backup list tell the state of a place", async () => {
  const { code, stdout } = await socle(["verify", place]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("whole and in order")]);
  expect(stdout).toContain("All is well");
  const list = await socle(["backup", "list", place]);
  expect(list.stdout).toMatch(/segments?, from number \d+ to \d+\nRestore with --at: the moments are from /);
  expect(list.stdout).toContain("0 gaps");
});

test("a moment outside of the backup is refused with the moments that can be restored", async () => {
  const cwd = await itemProject();
  const cases = [
    ["0", "is before the first moment of the backup; the moments are from "],
    ["999999", "is after the last commit of the backup; leave --at out for the newest state"],
    ["2001-01-01", "is before the first moment of the backup"],
    ["2100-01-01T00:00:00Z", "is after the last commit of the backup"],
    ["yesterday", "is no moment; allowed: a time like 2026-11-30T08:15:00Z, or a position"],
  ] as const;
  for (const [at, line] of cases) {
    const { code, stderr } = await socle(["restore", place, "--at", at], { cwd });
    expect([at, code, stderr]).toEqual([at, 2, expect.stringContaining(line)]);
  }
  expect(readdirSync(cwd).filter((name) => name.startsWith("socle.db") && !name.includes("lock"))).toEqual([]);
});

test("segments that are missing, cut, damaged, of another number or of another chain are told, and nothing is restored past them", async () => {
  const { first, last } = await listed(place);
  const target = last.number - 1;
  const segments = last.number - first.number + 1;
  const damages: [name: string, damage: (path: string, copy: string) => void, line: string][] = [
    ["missing", (path) => rmSync(path), "missing"],
    ["cut", (path) => truncateSync(path, statSync(path).size - 5), "cannot be used"],
    ["cut in the head", (path) => truncateSync(path, 20), "its head is cut off"],
    ["twice", (path, copy) => cpSync(segmentPath(copy, target - 1), path), `it is the segment ${target - 1}`],
    [
      "of another chain",
      (path) => {
        const bytes = readFileSync(path);
        const text = bytes.toString("latin1").replace(/"before":"./, (found) => `${found.slice(0, -1)}#`);
        writeFileSync(path, Buffer.from(text, "latin1"));
      },
      "cannot be used",
    ],
  ];
  for (const [name, damage, line] of damages) {
    const copy = copyOfPlace();
    // A later snapshot would go over the damage.
    for (const { name: later, position } of (await listed(copy)).snapshots)
      if (position > middle.position) rmSync(join(copy, "snapshots", later));
    damage(segmentPath(copy, target), copy);
    const cwd = await itemProject();
    const { code, stderr } = await socle(["restore", copy], { cwd });
    expect([name, code, stderr]).toEqual([name, 1, expect.stringContaining(line)]);
    expect(stderr).toContain("For the state before, restore with --at ");
    const verified = await socle(["verify", copy]);
    expect([name, verified.code, verified.stdout]).toEqual([name, 1, expect.stringContaining("error  segments")]);
    expect(verified.stdout).not.toContain("in order");
    const list = (await socle(["backup", "list", copy])).stdout;
    const isMissing = name === "missing";
    expect(list).toContain(
      `\n${isMissing ? segments - 1 : segments} segments, from number ${first.number} to ${last.number}\n`,
    );
    expect([name, list.includes(`: missing\n`)]).toEqual([name, isMissing]);
    const [, at = ""] = /restore with --at (\d+)/.exec(stderr) ?? [];
    expect((await socle(["restore", copy, "--at", at], { cwd })).code).toBe(0);
  }
});

/** A store in front of the store of the tests. @param fault the answer in place of the store's; null for the store's answer. */
function storeBehind(fault: (request: Request) => Promise<Response | null>): Bun.Server<undefined> {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { method, headers, url } = request;
      const body = method === "PUT" || method === "POST" ? await request.bytes() : undefined;
      const answer = await fault(request);
      if (answer !== null) return answer;
      const { pathname, search } = new URL(url);
      return fetch(`${s3.endpoint}${pathname}${search}`, { method, headers, ...(body && { body }) });
    },
  });
}

/** Scenarios with places of their own, which run beside each other: each wait of a scenario is work of another scenario. */
const scenarios: [title: string, work: () => Promise<void>][] = [
  [
    "after a kill, a snapshot closes the gap; the restored state has every write that had left",
    async () => {
      const prefix = prefixIn("kills");
      const env = { ...withPlace(prefix), ...withStore(s3.endpoint) };
      const cwd = await itemProject();
      const server = await serve(cwd, { env });
      for (let n = 0; n < 5; n++) await add(server.url, n);
      await untilAllLeft(server);
      await Promise.all(Array.from({ length: 30 }, (_, n) => add(server.url, 5 + n)));
      server.signal("SIGKILL");
      await server.exited;
      const killed = await serve(await restored(prefix, [], env));
      expect((await numbers(killed.url)).slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
      await killed.stop();

      const second = await serve(cwd, { env });
      await untilAllLeft(second);
      await add(second.url, 100);
      expect(await second.stop()).toBe(0);
      const whole = await serve(await restored(prefix, [], env));
      expect(await numbers(whole.url)).toEqual([...Array.from({ length: 35 }, (_, n) => n), 100]);
      await whole.stop();
      // A clean stop leaves no gap.
      const before = await listed(prefix, env);
      const third = await serve(cwd, { env });
      await add(third.url, 101);
      expect(await third.stop()).toBe(0);
      const after = await listed(prefix, env);
      expect(after.gaps).toEqual(before.gaps);
      expect(after.last.last).toBeGreaterThan(before.last.last);
      expect((await socle(["verify", prefix], { env })).code).toBe(0);
    },
  ],
  [
    "a command beside the stopped service leaves the chain; the next start makes a snapshot, and a restore has the changes of the command",
    async () => {
      const chain = join(temporaryFolder(), "live");
      const env = withPlace(chain);
      const cwd = await itemProject();
      const first = await serve(cwd, { env });
      await add(first.url, 1);
      await untilAllLeft(first);
      expect(await first.stop()).toBe(0);
      expect((await listed(chain)).gaps).toEqual([]);
      writeFileSync(join(cwd, "items.ndjson"), '{"n":2}\n');
      const imported = await socle(["import", "items", "items.ndjson"], { cwd, env });
      expect([imported.code, imported.stderr]).toEqual([0, ""]);
      const again = await serve(cwd, { env });
      await untilAllLeft(again);
      await add(again.url, 3);
      expect(await again.stop()).toBe(0);
      expect((await listed(chain)).gaps).toHaveLength(1);
      const back = await serve(await restored(chain, []));
      expect(await numbers(back.url)).toEqual([1, 2, 3]);
      await back.stop();
    },
  ],
  [
    "of two services with one place, the second sends nothing and overwrites nothing",
    async () => {
      const shared = join(temporaryFolder(), "live");
      const env = withPlace(shared);
      const cwd = await itemProject();
      const first = await serve(cwd, { env });
      await add(first.url, 1);
      await untilAllLeft(first);
      // A copy of the database of the first service, and another database.
      const copy = await itemProject();
      expect(await first.stop()).toBe(0);
      for (const name of readdirSync(cwd))
        if (/^socle\.db(-wal)?$/.test(name)) cpSync(join(cwd, name), join(copy, name));
      const again = await serve(cwd, { env });
      await add(again.url, 2);
      await untilAllLeft(again);
      const before = new Map(
        readdirSync(join(shared, "segments")).map((name) => [name, readFileSync(join(shared, "segments", name))]),
      );
      const cases = [
        [copy, "that this database does not have"],
        [await itemProject(), "has the backup of another database"],
      ] as const;
      for (const [folder, line] of cases) {
        const second = await serve(folder, { env });
        await add(second.url, 7);
        await until(() => second.output().includes(`has stopped: ${shared} `));
        expect(second.output()).toContain(line);
        const status = await socle(["status"], { cwd: folder, env });
        expect([status.code, status.stdout]).toEqual([1, expect.stringContaining("The continuous backup has stopped")]);
        const ready = await (await fetch(`${second.url}/health/ready`)).text();
        expect(ready).toContain("The continuous backup has stopped");
        await second.stop();
      }
      await add(again.url, 3);
      await untilAllLeft(again);
      for (const [name, bytes] of before) expect(readFileSync(join(shared, "segments", name)).equals(bytes)).toBe(true);
      expect((await socle(["status"], { cwd, env })).stdout).not.toContain("continuous");
      // A copy that begins at the same moment: whoever writes the next segment first goes on.
      expect(await again.stop()).toBe(0);
      for (const name of readdirSync(copy))
        if (name.startsWith("socle.db")) rmSync(join(copy, name), { recursive: true });
      for (const name of readdirSync(cwd))
        if (/^socle\.db(-wal)?$/.test(name)) cpSync(join(cwd, name), join(copy, name));
      const [one, two] = [await serve(cwd, { env }), await serve(copy, { env })];
      await add(one.url, 10);
      await until(async () => (await behind(one.url)) === 0);
      await add(two.url, 20);
      await until(() => `${one.output()}${two.output()}`.includes(`has stopped: ${shared} `));
      await Promise.all([one.stop(), two.stop()]);
      expect((await socle(["verify", shared])).code).toBe(0);
    },
  ],
  ...[
    { what: "away", status: 503, code: "SlowDown" },
    { what: "full", status: 403, code: "QuotaExceeded" },
  ].map(({ what, status, code }): [string, () => Promise<void>] => [
    `while the store is ${what}, writes go on, the age is told, and all leaves when the store takes objects again`,
    async () => {
      let isAway = false;
      using line = storeBehind(async () =>
        isAway ? new Response(`<Error><Code>${code}</Code></Error>`, { status }) : null,
      );
      const prefix = prefixIn(what);
      const env = { ...withPlace(prefix), ...withStore(line.url.origin) };
      const server = await serve(await itemProject(), { env });
      await add(server.url, 1);
      await untilAllLeft(server);
      isAway = true;
      for (let n = 2; n < 10; n++) await add(server.url, n);
      await until(async () => (await behind(server.url)) > 0.5);
      await until(() => server.output().includes("The continuous backup waits: "));
      isAway = false;
      await untilAllLeft(server);
      const { gaps } = await listed(prefix, { ...env, ...withStore(s3.endpoint) });
      expect(gaps).toEqual([]);
      expect(await server.stop()).toBe(0);
      const back = await serve(await restored(prefix, [], env));
      expect(await numbers(back.url)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      await back.stop();
    },
  ]),
  [
    "with a store that answers late, each write leaves, and the writes themselves are not late",
    async () => {
      let waiting = 0;
      using line = storeBehind(async () => {
        waiting += 1;
        await Bun.sleep(200);
        waiting -= 1;
        return null;
      });
      const prefix = prefixIn("late");
      const env = { ...withPlace(prefix), ...withStore(line.url.origin) };
      const server = await serve(await itemProject(), { env });
      for (let n = 0; n < 10; n++) {
        await until(() => waiting > 0);
        await add(server.url, n);
      }
      await untilAllLeft(server);
      await add(server.url, 10);
      // The stop waits for the last segment.
      expect(await server.stop()).toBe(0);
      const back = await serve(await restored(prefix, [], env));
      expect((await numbers(back.url)).length).toBe(11);
      await back.stop();
    },
  ],
  [
    "a store that forbids deletions loses nothing: the log tells, segments leave, and old objects go when the store lets them go",
    async () => {
      let isForbidden = true;
      let refused = 0;
      using line = storeBehind(async (request) => {
        if (request.method !== "DELETE" || !isForbidden) return null;
        refused += 1;
        return new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
      });
      const prefix = prefixIn("forbids");
      const env = { ...withPlace(prefix, { SERVICE_BACKUP_KEEP: "1s" }), ...withStore(line.url.origin) };
      const server = await serve(await itemProject(), { env });
      let n = 0;
      const writeUntil = (condition: () => boolean | Promise<boolean>): Promise<void> =>
        until(async () => {
          await add(server.url, n++);
          await Bun.sleep(100);
          return condition();
        });
      await writeUntil(() => refused > 0 && server.output().includes("could not be removed"));
      const places = { ...env, ...withStore(s3.endpoint) };
      expect((await listed(prefix, places)).first.number).toBe(1);
      await untilAllLeft(server);
      isForbidden = false;
      await writeUntil(async () => (await listed(prefix, places)).first.number > 1);
      await untilAllLeft(server);
      expect(await server.stop()).toBe(0);
      expect((await socle(["verify", prefix], { env: places })).code).toBe(0);
      const back = await serve(await restored(prefix, [], places));
      expect(await numbers(back.url)).toEqual(Array.from({ length: n }, (_, i) => i));
      await back.stop();
    },
  ],
  [
    "with reader processes, encrypted for a recipient: only the identity restores",
    async () => {
      const { identity: key, recipient } = await newAgeKey();
      const file = join(temporaryFolder(), "key.txt");
      writeFileSync(file, `# a key\n${key}\n`);
      const sealed = join(temporaryFolder(), "sealed");
      const more = { SERVICE_BACKUP_RECIPIENT: recipient, SERVICE_PROCESSES: "2" };
      const server = await serve(await itemProject(), { env: withPlace(sealed, more) });
      for (let n = 0; n < 20; n++) await add(server.url, n);
      await untilAllLeft(server);
      expect(await server.stop()).toBe(0);
      const back = await serve(await restored(sealed, ["--identity", file]));
      expect((await numbers(back.url)).length).toBe(20);
      await back.stop();
      expect((await socle(["verify", sealed, "--identity", file])).code).toBe(0);
      writeFileSync(file, `${(await newAgeKey()).identity}\n`);
      const wrong = await socle(["restore", sealed, "--identity", file], { cwd: await itemProject() });
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("identity does not open it")]);
    },
  ],
  [
    "what is older than backup.keep goes: snapshots, segments, and copies of deleted files",
    async () => {
      const old = join(temporaryFolder(), "old");
      const server = await serve(await itemProject(), { env: withPlace(old, { SERVICE_BACKUP_KEEP: "1s" }) });
      const token = await signIn(server.url);
      const id = await upload(server.url, token, "short");
      await untilAllLeft(server);
      expect(readdirSync(join(old, "files"))).toEqual([id]);
      await fetch(`${server.url}/api/storage/${id}`, {
        method: "DELETE",
        headers: { Authorization: `Bearer ${token}` },
      });
      let n = 0;
      await until(async () => {
        await add(server.url, n++);
        await Bun.sleep(100);
        return (
          readdirSync(join(old, "files")).length === 0 &&
          !readdirSync(join(old, "segments")).includes("segment-0000000000000001")
        );
      });
      await untilAllLeft(server);
      expect(await server.stop()).toBe(0);
      const { first, snapshots } = await listed(old);
      expect(first.number).toBeGreaterThan(1);
      expect(snapshots.length).toBeLessThan(6);
      expect((await socle(["verify", old])).code).toBe(0);
      const back = await serve(await restored(old, []));
      expect(await numbers(back.url)).toEqual(Array.from({ length: n }, (_, i) => i));
      await back.stop();
    },
  ],
];

test("scenarios beside each other", async () => {
  const outcomes = await Promise.allSettled(scenarios.map(([, work]) => work()));
  const failures = outcomes.flatMap((outcome, i) =>
    outcome.status === "fulfilled" ? [] : [`${scenarios[i]?.[0]}: ${outcome.reason?.stack ?? outcome.reason}`],
  );
  expect(failures.join("\n\n")).toBe("");
});
