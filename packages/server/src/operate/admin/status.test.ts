/** Tests of the status: each condition is told with values and remedy, from the first look to the end of the condition. */
import { expect, test } from "bun:test";
import type { ClusterInstance, ServiceStatus } from "@socle/protocol";
import { newCertificate } from "../../../test/certificates.ts";
import { openApi } from "../../../test/kit.ts";
import type { LimitName } from "../../base/kernel/index.ts";
import type { HistogramTotals } from "../../base/logging/index.ts";
import type { ReadOnlyState } from "../../store/database/index.ts";
import type { ContinuousState } from "../backup/index.ts";
import type { StatusSources } from "./conditions.ts";
import { Status } from "./status.ts";

const [minute, hour] = [60_000, 3_600_000];
const start = Date.parse("2026-03-01T12:00:00Z");

/** Sources of a service that is well, with the values that the tests change. */
function well() {
  const state = {
    now: start,
    flushes: { atMost: [[500, 1_000]], count: 1_000, sumMs: 1_000 } as HistogramTotals,
    refused: [] as [cause: string, writes: number][],
    limits: [] as [limit: LimitName, times: number][],
    reasons: [] as string[],
    open: 0,
    uncopied: 0,
    diskFree: 1,
    backup: { last: { endedAt: start }, lastError: null } as ReturnType<StatusSources["backups"]["totals"]>,
    continuous: null as ContinuousState | null,
    schedule: "0 3 * * *" as string | undefined,
    pem: null as string | null,
    oldest: null as number | null,
    lag: 0,
    instances: null as ClusterInstance[] | null,
    isJournalReached: true,
    isStorageReached: true,
    leader: "http://one" as string | null,
    readOnly: null as ReadOnlyState | null,
  };
  const sources: StatusSources = {
    clock: { now: () => state.now },
    logger: { often: () => undefined },
    config: {
      get "limits.diskFree"() {
        return state.diskFree;
      },
      get "backup.schedule"() {
        return state.schedule;
      },
    },
    certificate: () => state.pem,
    disks: ["/"],
    readiness: async () => state.reasons,
    database: {
      readOnly: {
        get state() {
          return state.readOnly;
        },
      },
      get uncopiedLog() {
        return state.uncopied;
      },
      meter: { flushes: { totals: () => state.flushes }, refused: () => state.refused },
    },
    limits: { totals: () => state.limits },
    backups: {
      totals: () => state.backup,
      get continuous() {
        return state.continuous;
      },
    },
    failures: {
      get open() {
        return state.open;
      },
    },
    functions: { oldest: () => state.oldest },
    mails: { oldest: () => null },
    jobs: { queues: { list: () => [{ name: "letters" }], lag: () => state.lag } },
    version: "1",
    get cluster() {
      const { instances, isJournalReached, isStorageReached, leader } = state;
      if (instances === null) return undefined;
      const overview = async () => ({ instances, isJournalReached, leader, term: 1, position: 1 });
      return { numbers: () => ({ isStorageReached }), overview };
    },
  };
  return { state, status: new Status(sources) };
}

const told = ({ items }: ServiceStatus): string[] => items.map(({ id, level, text }) => `${level} ${id}: ${text}`);
const instance = (more: Partial<ClusterInstance>): ClusterInstance => ({
  address: "http://one",
  position: 1,
  role: "leader",
  isLive: true,
  lag: 0,
  problem: null,
  version: "1",
  files: "a",
  ...more,
});

type State = ReturnType<typeof well>["state"];

const expired = await newCertificate("expired", { from: start - hour, until: start - minute });
const ending = await newCertificate("ending", { from: start - hour, until: start + 49 * hour });
const replica = (more: Partial<ClusterInstance>): ClusterInstance[] => [
  instance({}),
  instance({ role: "replica", address: "http://two", ...more }),
];
const continuous: ContinuousState = { behindMs: 0, allowedMs: 7_000, problem: null, isOver: false, segments: 9 };
const noBackup = { last: null, lastError: null };

const cases: [changed: Partial<State>, line: string][] = [
  [{ reasons: ["a write takes long"] }, "error not_ready: The service is not ready: a write takes long"],
  [
    { uncopied: 300 * 1024 ** 2 },
    "warning log_not_copied: 300 MiB of the write-ahead log are not copied into the database",
  ],
  [
    { flushes: { atMost: [[500, 1_100]], count: 1_103, sumMs: 1 } },
    "warning flush_slow: 3 of 103 of the last flushes of the disk took longer than 500 ms",
  ],
  [{ refused: [["full", 1]] }, "error writes_refused: The disk did not take writes: full"],
  [
    { backup: { ...noBackup, lastError: "the bucket is away" } },
    "error backup_failed: The last backup failed: the bucket is away",
  ],
  [{ now: start + 18 * hour }, "error backup_old: The backup of 2026-03-02T03:00:00.000Z was not made"],
  [{ schedule: undefined, backup: noBackup }, "note backup_none: There is no backup, and none is scheduled"],
  [
    { continuous: { ...continuous, behindMs: 90_000 } },
    "warning backup_behind: The oldest write that is not in the continuous backup is 90 s old",
  ],
  [
    { continuous: { ...continuous, behindMs: 90_000, problem: "the bucket is away" } },
    "warning backup_behind: The oldest write that is not in the continuous backup is 90 s old: the bucket is away",
  ],
  [
    { continuous: { ...continuous, isOver: true, problem: "The place belongs to another service" } },
    "error backup_stopped: The place belongs to another service",
  ],
  [{ pem: expired.cert }, "error certificate_ends: The certificate has expired"],
  [{ pem: ending.cert }, "warning certificate_ends: The certificate expires in 2 days"],
  [{ open: 2 }, "warning failures_open: 2 causes of failures are open"],
  [{ oldest: start - 11 * minute }, "warning work_late: An event waits for its function since 11 minutes"],
  [{ lag: 20 * minute }, "warning work_late: A run of the queue letters is due since 20 minutes"],
  [
    { limits: [["connections", 3]] },
    "note limit_reached: Callers were turned away or cut off at the bound connections, 3 times in the last minutes",
  ],
  [
    { instances: [], isJournalReached: false },
    "error journal_away: PostgreSQL, which has the journal, does not answer",
  ],
  [{ instances: [], leader: null }, "error no_leader: No instance leads the cluster"],
  [{ instances: [], isStorageReached: false }, "error bucket_away: The bucket of the files does not answer"],
  [{ instances: replica({ isLive: false }) }, "warning instance_away: http://two does not tell of itself"],
  [{ instances: replica({ problem: "a fork" }) }, "warning instance_problem: http://two: a fork"],
  [{ instances: replica({ lag: 5_000 }) }, "warning replica_behind: http://two is 5000 commits behind"],
  [{ instances: replica({ files: "b" }) }, "note other_files: http://two has other project files than the leader"],
  [{ instances: replica({ version: "2" }) }, "note other_version: http://two runs 2, this instance 1"],
];

for (const [changed, line] of cases)
  test(`the status tells "${line}" with a remedy, and nothing before the change`, async () => {
    const { state, status } = well();
    status.start(new AbortController().signal);
    expect(await status.now()).toEqual({ isWell: true, items: [] });
    Object.assign(state, changed);
    const found = await status.now();
    expect(told(found)).toEqual([line]);
    expect(found.isWell).toBe(line.startsWith("note"));
    expect(found.items[0]?.remedy).not.toBe("");
  });

test("the status tells of a read-only service, as an error if the service has begun the mode", async () => {
  const { state, status } = well();
  state.readOnly = { cause: "admin", since: start, text: "an admin has switched changes off" };
  expect(told(await status.now())).toEqual([
    "warning read_only: The service is read-only: an admin has switched changes off",
  ]);
  state.readOnly = { cause: "disk", since: start, text: "the disk is small" };
  expect(told(await status.now())).toEqual(["error read_only: The service is read-only: the disk is small"]);
});

test("the status tells of a disk with less than twice limits.diskFree", async () => {
  const { state, status } = well();
  state.diskFree = Number.MAX_SAFE_INTEGER;
  expect(told(await status.now())).toEqual([
    expect.stringMatching(/^warning disk_low: The disk of \/ has \d+ MiB free$/),
  ]);
});

test("the status tells of no backup before the time of the schedule, whatever the pause between two backups", async () => {
  const { state, status } = well();
  state.now = start + 16 * hour;
  expect(told(await status.now())).toEqual([]);
  state.schedule = "0 3 * * 0";
  state.now = start + 160 * hour;
  expect(told(await status.now())).toEqual([]);
  state.now = start + 162 * hour;
  expect(told(await status.now())).toEqual(["error backup_old: The backup of 2026-03-08T03:00:00.000Z was not made"]);
});

test("a condition has the time of the first look; the time stays while values change, and a condition that comes back has a new time", async () => {
  const { state, status } = well();
  state.lag = 20 * minute;
  const since = async (): Promise<unknown> => (await status.now()).items[0]?.since;
  const first = await since();
  state.now += 5 * minute;
  state.lag += 5 * minute;
  expect(await since()).toBe(first);
  state.lag = 0;
  expect(await since()).toBeUndefined();
  state.lag = 20 * minute;
  expect(await since()).toBe(new Date(start + 5 * minute).toISOString());
});

test("another number or another error in a text is the same condition; another disk, instance or queue is another condition", async () => {
  const { state, status } = well();
  const keys = async (): Promise<string[]> => (await status.conditions()).map(({ key }) => key);
  const backupOf = (lastError: string) => ({ ...noBackup, lastError });
  Object.assign(state, { backup: backupOf("no room for /backups/1"), uncopied: 300 * 1024 ** 2, lag: 20 * minute });
  state.instances = replica({ lag: 5_000 });
  const before = await keys();
  Object.assign(state, { backup: backupOf("no room for /backups/2"), uncopied: 400 * 1024 ** 2, lag: 30 * minute });
  state.instances = replica({ lag: 6_000 });
  expect(await keys()).toEqual(before);
  expect(before).toEqual([
    "backup_failed",
    "log_not_copied",
    "work_late A run of the queue letters is due",
    "replica_behind http://two",
  ]);
  state.instances = replica({ lag: 6_000, address: "http://three" });
  state.diskFree = Number.MAX_SAFE_INTEGER;
  expect(await keys()).toEqual(expect.arrayContaining(["replica_behind http://three", "disk_low /"]));
  expect(JSON.stringify(await status.now())).not.toContain("subject");
});

test("a continuous backup that is in time is no condition, and the missing schedule is no condition, too", async () => {
  const { state, status } = well();
  Object.assign(state, { continuous: { ...continuous, behindMs: 6_000 }, schedule: undefined, backup: noBackup });
  expect(told(await status.now())).toEqual([]);
});

test("limits that strangers reach every day, and totals from before the start, are no condition", async () => {
  const { state, status } = well();
  state.refused = [["full", 2]];
  state.limits = [["connections", 9]];
  status.start(new AbortController().signal);
  state.limits = [
    ["connections", 9],
    ["logins", 100],
    ["rate", 50],
  ];
  expect(await status.now()).toEqual({ isWell: true, items: [] });
});

test("GET /api/admin/status is for admins; the metrics have each condition", async () => {
  const api = await openApi({ collections: [] });
  const token = await api.admin();
  const { accessToken } = await api.register("ann@example.com");
  expect((await api.request("GET", "/api/admin/status")).status).toBe(401);
  expect((await api.request("GET", "/api/admin/status", { token: accessToken })).status).toBe(403);
  const failure = {
    kind: "function",
    path: "functions/a.ts",
    error: "broken",
    at: start,
    run: "run_1",
    record: null,
  } as const;
  await api.service.database.transact((tx) => api.service.failures.add(tx, failure));
  const { status, body } = await api.request<ServiceStatus>("GET", "/api/admin/status", { token });
  expect(status).toBe(200);
  expect([body.isWell, told(body)]).toEqual([
    false,
    [
      "warning failures_open: 1 cause of failures is open",
      "note backup_none: There is no backup, and none is scheduled",
    ],
  ]);
  const metrics = await api.request("GET", "/metrics", { token });
  const text = new TextDecoder().decode(metrics.bytes);
  expect(text).toContain('socle_status{id="failures_open",level="warning"} 1');
});
