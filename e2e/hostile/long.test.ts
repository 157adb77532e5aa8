/**
 * `npm run test:hostile`: every attack of the hostile suite in its long form, in a cgroup of 512 MiB where this machine lets us
 * make one. It prints what each did, writes the table into docs/reliability.md with `HOSTILE_WRITE=1`, and fails when a bound
 * was passed or the bystander was not answered. Times are printed and not judged: machines differ. `HOSTILE_ONLY` names a part
 * of an attack's name.
 */
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { root } from "../kit.ts";
import { attacks } from "./attacks.ts";
import { quantile } from "./measure.ts";
import { allowedMiB, type Outcome, suffer } from "./suite.ts";

const size = { seconds: 10, share: 1, big: 100, pages: 2_000 };
/** The time of the whole suite, in milliseconds; the last recoveries are cut short for it. */
const budgetMs = 9.5 * 60_000;
const recoverySeconds = 60;
const page = join(root, "docs/reliability.md");

/** A cgroup (version 1 or 2) of 512 MiB, or null where none can be made. */
function memoryGroup(): { add(pid: number): void; killed(): number; remove(): void } | null {
  const limit = 512 * 1024 ** 2;
  for (const [parent, bound, counter] of [
    ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"],
    ["/sys/fs/cgroup", "memory.max", "memory.events"],
  ] as const) {
    const folder = join(parent, `socle-hostile-${process.pid}`);
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, bound), String(limit));
    } catch {
      // Not this version, or not ours to make.
      continue;
    }
    return {
      add: (pid) => writeFileSync(join(folder, "cgroup.procs"), String(pid)),
      killed: () => Number(/oom_kill (\d+)/.exec(readFileSync(join(folder, counter), "utf8"))?.[1] ?? 0),
      remove: () => rmdirSync(folder),
    };
  }
  return null;
}

const whole = (value: number): string => value.toFixed(0);
const header = [
  "| attack | read p99 ms | write p99 ms | health p99 ms | memory MiB: idle, before, most, after | disk MiB: before, most | log MiB | descriptors: before, most, after |",
  "| --- | --- | --- | --- | --- | --- | --- | --- |",
];

function row({ name, idle, before, peak, after, bystander }: Outcome): string {
  const p99 = [bystander.read, bystander.write, bystander.health].map((times) => quantile(times, 0.99).toFixed(1));
  const cells = [
    name,
    ...p99,
    [idle, before, peak, after].map(({ memory }) => whole(memory)).join(", "),
    [before, peak].map(({ disk }) => whole(disk)).join(", "),
    whole(peak.log),
    [before, peak, after].map(({ descriptors }) => descriptors).join(", "),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Every bound that was passed, a line each. */
function faults({ name, idle, before, peak, after, bystander, exitCode }: Outcome): string[] {
  const found: string[] = [];
  const check = (isFine: boolean, problem: string): void => {
    if (!isFine) found.push(`${name}: ${problem}`);
  };
  const failures = bystander.failures.length;
  check(failures === 0, `${failures} requests of the bystander failed: ${bystander.failures.slice(0, 3).join(", ")}`);
  check(exitCode === 0, `the service ended with ${exitCode}`);
  check(peak.memory - idle.memory <= allowedMiB.memory, `memory ${whole(peak.memory - idle.memory)} MiB above idle`);
  check(
    after.memory - before.memory <= 40,
    `memory stayed ${whole(after.memory - before.memory)} MiB above what it was`,
  );
  check(peak.log <= allowedMiB.log, `the write-ahead log took ${whole(peak.log)} MiB`);
  return found;
}

const only = process.env["HOSTILE_ONLY"] ?? "";
const group = memoryGroup();
const place = group === null ? "without a bound on memory" : "in a cgroup of 512 MiB";
const rows: string[] = [];
const end = performance.now() + budgetMs;
console.log(`${cpus().length} cores (${cpus()[0]?.model.trim()}), ${place}; ${size.seconds} s each\n`);

test.each(Object.keys(attacks).filter((name) => name.includes(only)))("%s", async (name) => {
  const recovery = Math.max(5, Math.min(recoverySeconds, (end - performance.now()) / 1_000));
  const killedBefore = group?.killed() ?? 0;
  const outcome = await suffer(name, { ...size, recovery }, (pid) => group?.add(pid));
  rows.push(row(outcome));
  console.log(rows.at(-1));
  expect(faults(outcome)).toEqual([]);
  expect(group?.killed() ?? 0).toBe(killedBefore);
});

afterAll(() => {
  group?.remove();
  if (process.env["HOSTILE_WRITE"] !== "1" || !existsSync(page)) return;
  const [start, stop] = ["<!-- hostile: start -->", "<!-- hostile: end -->"];
  const text = readFileSync(page, "utf8");
  const [before = "", rest = ""] = text.split(start);
  const table = [`${cpus().length} cores, ${place}, ${size.seconds} s an attack:`, "", ...header, ...rows].join("\n");
  writeFileSync(page, `${before}${start}\n\n${table}\n\n${stop}${rest.split(stop)[1] ?? ""}`);
});
