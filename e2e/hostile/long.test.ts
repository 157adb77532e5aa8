/**
 * `npm run test:hostile`: every attack of the hostile suite in the long form, in a cgroup of 512 MiB if the machine allows
 * a cgroup. The test prints the effect of each attack, writes the table into docs/reliability.md with
 * `HOSTILE_WRITE=1`, and fails when a bound was passed or the bystander got no answer. Times are printed and not
 * judged: machines differ. `HOSTILE_ONLY` names a part of an attack's name.
 */
// Promises: B2.
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { root } from "../kit.ts";
import { attacks } from "./attacks.ts";
import { quantile } from "./measure.ts";
import { allowedMiB, type Outcome, suffer } from "./suite.ts";

const size = { seconds: 10, share: 1, big: 100, pages: 2_000, rest: 5, recovery: 60 };
const page = join(root, "docs/reliability.md");

interface MemoryGroup {
  add(pid: number): void;
  /** The number of processes that the kernel has killed in the cgroup. */
  killed(): number;
  remove(): void;
}

/** A cgroup (version 1 or 2) of 512 MiB, or null when the machine allows no cgroup. */
function memoryGroup(name: string): MemoryGroup | null {
  const limit = 512 * 1024 ** 2;
  for (const [parent, bound, counter] of [
    ["/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"],
    ["/sys/fs/cgroup", "memory.max", "memory.events"],
  ] as const) {
    const folder = join(parent, `socle-hostile-${process.pid}-${name}`);
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
  "| attack | read p99 ms | filter p99 ms | write p99 ms | health p99 ms | memory MiB: idle, before, most, after | above idle: most (≤ 256), after | above before: after (≤ 40) | disk MiB: before, most | log MiB | descriptors: before, most, after |",
  "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
];

function row({ name, idle, before, peak, after, bystander }: Outcome): string {
  const p99 = [bystander.read, bystander.filter, bystander.write, bystander.health].map((times) =>
    quantile(times, 0.99).toFixed(1),
  );
  const cells = [
    name,
    ...p99,
    [idle, before, peak, after].map(({ memory }) => whole(memory)).join(", "),
    [peak, after].map(({ memory }) => whole(memory - idle.memory)).join(", "),
    whole(after.memory - before.memory),
    [before, peak].map(({ disk }) => whole(disk)).join(", "),
    whole(peak.log),
    [before, peak, after].map(({ descriptors }) => descriptors).join(", "),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Every bound that was passed, a line per bound. */
function faults({ name, idle, before, peak, after, bystander, attackCode, exitCode }: Outcome): string[] {
  const found: string[] = [];
  const check = (isFine: boolean, problem: string): void => {
    if (!isFine) found.push(`${name}: ${problem}`);
  };
  const failures = bystander.failures.length;
  check(failures === 0, `${failures} requests of the bystander failed: ${bystander.failures.slice(0, 3).join(", ")}`);
  check(attackCode !== 1, `the attacker ended with ${attackCode}`);
  check(exitCode === 0, `the service ended with ${exitCode}`);
  check(peak.memory - idle.memory <= allowedMiB.memory, `memory ${whole(peak.memory - idle.memory)} MiB above idle`);
  check(
    after.memory - before.memory <= allowedMiB.kept,
    `memory stayed ${whole(after.memory - before.memory)} MiB above what it was before the attack`,
  );
  check(peak.log <= allowedMiB.log, `the write-ahead log took ${whole(peak.log)} MiB`);
  return found;
}

const only = process.env["HOSTILE_ONLY"] ?? "";
const names = Object.keys(attacks).filter((name) => name.includes(only));
const group = memoryGroup("any");
group?.remove();
const place = group === null ? "without a bound on memory" : "in a cgroup of 512 MiB";
const rows: string[] = [];
console.log(`${cpus().length} cores (${cpus()[0]?.model.trim()}), ${place}; ${size.seconds} s each\n`);

/** Made here and not in the tests: a service ends with the test that started the service, and is looked at a minute later. */
const suffered = new Map<string, { attack: ReturnType<typeof suffer>; group: MemoryGroup | null }>();
for (const name of names) {
  const group = memoryGroup(String(suffered.size));
  const attack = suffer(name, size, (pid) => group?.add(pid));
  suffered.set(name, { attack, group });
  // The attack's test reports the failure.
  await attack.then(({ outcome }) => void outcome.catch(() => undefined)).catch(() => undefined);
}

test.each(names)("%s", async (name) => {
  const { attack, group } = suffered.get(name) ?? {};
  if (attack === undefined) throw new Error("The attack was not made");
  const outcome = await (await attack).outcome;
  const killed = group?.killed() ?? 0;
  group?.remove();
  rows.push(row(outcome));
  console.log(rows.at(-1));
  expect(faults(outcome)).toEqual([]);
  expect(killed).toBe(0);
});

afterAll(() => {
  if (process.env["HOSTILE_WRITE"] !== "1" || !existsSync(page)) return;
  const [start, stop] = ["<!-- hostile: start -->", "<!-- hostile: end -->"];
  const text = readFileSync(page, "utf8");
  const [before = "", rest = ""] = text.split(start);
  const table = [`${cpus().length} cores, ${place}, ${size.seconds} s an attack:`, "", ...header, ...rows].join("\n");
  writeFileSync(page, `${before}${start}\n\n${table}\n\n${stop}${rest.split(stop)[1] ?? ""}`);
});
