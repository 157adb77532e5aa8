/** Guide of a rolling upgrade: the next step in each state of a cluster. */
import { expect, test } from "bun:test";
import { nextStep, type UpgradeInstance, type UpgradeStep } from "./cluster-upgrade.ts";

const target = { version: "2", files: "new" };
const waits = "waits for a leader of its version: the tables";

function instance(address: string, more: Partial<UpgradeInstance> = {}): UpgradeInstance {
  const old = { role: "replica", isLive: true, version: "1", files: "new", problem: null, unready: null } as const;
  return { address, ...old, ...more };
}

const [old, done, leads, away] = [{}, { version: "2" }, { role: "leader" }, { isLive: false }] as const;

const cases: readonly {
  readonly name: string;
  readonly instances: readonly Partial<UpgradeInstance>[];
  readonly size?: number;
  readonly order?: readonly string[];
  readonly step: UpgradeStep["state"];
  readonly of: "a" | "b" | "c" | null;
  readonly says: string;
}[] = [
  { name: "a replica first", instances: [leads, old, old], step: "next", of: "b", says: "stop b, replace" },
  { name: "the other replica", instances: [leads, done, old], step: "next", of: "c", says: "stop c, replace" },
  {
    name: "an upgraded replica that waits for a leader holds up nothing",
    instances: [leads, { ...done, problem: waits, unready: "x" }, old],
    step: "next",
    of: "c",
    says: "stop c, replace",
  },
  {
    name: "an upgraded replica that is not ready",
    instances: [leads, { ...done, unready: "the state is 9000 ms old" }, old],
    step: "wait",
    of: "b",
    says: "b is not ready: the state is 9000 ms old",
  },
  {
    name: "a replica that is not ready",
    instances: [leads, old, { unready: "x" }],
    step: "wait",
    of: "c",
    says: "not ready",
  },
  {
    name: "the leader is not ready",
    instances: [{ ...leads, unready: "x" }, old, old],
    step: "wait",
    of: "a",
    says: "not ready",
  },
  {
    name: "an instance that is gone",
    instances: [leads, away, old],
    step: "wait",
    of: "b",
    says: "socle cluster remove b",
  },
  {
    name: "an instance that is stopped",
    instances: [leads, old],
    size: 3,
    step: "wait",
    of: null,
    says: "2 of 3 instances run",
  },
  { name: "nobody leads", instances: [old, done, done], step: "wait", of: null, says: "no instance leads" },
  {
    name: "an upgraded instance has a problem",
    instances: [leads, { ...done, problem: "the bucket refuses" }, old],
    step: "stop",
    of: "b",
    says: "the bucket refuses",
  },
  { name: "the leader last", instances: [leads, done, done], step: "next", of: "b", says: "socle cluster lead b" },
  {
    name: "a ready replica leads, before a replica that waits",
    instances: [leads, { ...done, problem: waits, unready: "x" }, done],
    step: "next",
    of: "c",
    says: "socle cluster lead c",
  },
  {
    name: "new files, too",
    instances: [{ ...leads, files: "old" }, done, done],
    order: ["old"],
    step: "next",
    of: "b",
    says: "socle cluster lead b --with-its-files",
  },
  {
    name: "the former leader, which is too old to follow",
    instances: [{ problem: "too old", unready: "x" }, { ...done, ...leads }, done],
    step: "next",
    of: "a",
    says: "stop a, replace executable and files, and start the instance (too old)",
  },
  {
    name: "two replicas that are too old",
    instances: [
      { problem: "too old", unready: "x" },
      { ...done, ...leads },
      { problem: "too old", unready: "x" },
    ],
    step: "next",
    of: "a",
    says: "stop a",
  },
  {
    name: "two instances",
    instances: [leads, old],
    step: "next",
    of: "b",
    says: "no other instance can lead meanwhile",
  },
  { name: "one instance", instances: [leads], step: "next", of: "a", says: "nothing serves meanwhile" },
  {
    name: "the end",
    instances: [{ ...done, ...leads }, done, done],
    step: "finished",
    of: null,
    says: "each instance",
  },
  {
    name: "files that were superseded",
    instances: [{ ...done, ...leads }, done],
    order: ["new", "newer"],
    step: "stop",
    of: null,
    says: "superseded by the files in force (newer)",
  },
];

test.each(cases)("$name", ({ instances, size = 0, order = ["old", "new"], step, of, says }) => {
  const all = instances.map((more, i) => instance("abc".charAt(i), more));
  expect(nextStep(all, { target, order, size })).toEqual({
    state: step,
    instance: of,
    text: expect.stringContaining(says),
  });
});
