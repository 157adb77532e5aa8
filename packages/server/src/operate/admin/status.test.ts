/** Status: each condition is told with its values and its remedy, from the time when it was first seen until it is over. */
import { describe, expect, test } from "bun:test";
import type { ServiceStatus } from "@socle/protocol";
import { openApi } from "../../../test/kit.ts";
import type { StatusSources } from "./conditions.ts";
import { Status } from "./status.ts";

const [minute, hour] = [60_000, 3_600_000];
const start = Date.parse("2026-03-01T12:00:00Z");

/** Sources of a service that is well. */
function well() {
  const flushes = { atMost: [[500, 1_000]], count: 1_000, sumMs: 1_000 };
  const state = {
    now: start,
    flushes,
    refused: [] as [string, number][],
    limits: [] as [string, number][],
    reasons: [] as string[],
    open: 0,
    uncopied: 0,
    backup: { last: { endedAt: start }, lastError: null } as {
      last: { endedAt: number } | null;
      lastError: string | null;
    },
    schedule: "0 3 * * *" as string | undefined,
    pem: null as string | null,
    oldest: null as number | null,
    lag: 0,
    instances: null as object[] | null,
    isJournalReached: true,
  };
  const sources = {
    clock: { now: () => state.now },
    config: {
      "limits.diskFree": 1,
      get "backup.schedule"() {
        return state.schedule;
      },
    },
    certificate: () => state.pem,
    disks: ["/"],
    readiness: async () => state.reasons,
    database: {
      get uncopiedLog() {
        return state.uncopied;
      },
      meter: { flushes: { totals: () => state.flushes }, refused: () => state.refused },
      reader: { get: () => ({ n: state.open }) },
    },
    limits: { totals: () => state.limits },
    backups: { totals: () => state.backup },
    functions: { oldest: () => state.oldest },
    mails: { oldest: () => null },
    jobs: { queues: { list: () => [{ name: "letters" }], lag: () => state.lag } },
    version: "1",
    get cluster() {
      if (state.instances === null) return undefined;
      return {
        numbers: () => ({ isStorageReached: true }),
        overview: async () => ({
          instances: state.instances,
          isJournalReached: state.isJournalReached,
          leader: "http://one",
        }),
      };
    },
  };
  return { state, status: new Status(sources as unknown as StatusSources) };
}

const told = ({ items }: ServiceStatus): string[] => items.map(({ id, level, text }) => `${level} ${id}: ${text}`);
const instance = (more: object) => ({
  address: "http://one",
  role: "leader",
  isLive: true,
  lag: 0,
  problem: null,
  version: "1",
  files: "a",
  ...more,
});

describe("each condition", () => {
  const cases: [change: (state: ReturnType<typeof well>["state"]) => void, line: string][] = [
    [
      (state) => state.reasons.push("a write takes longer than 2 s"),
      "error not_ready: The service is not ready: a write takes longer than 2 s",
    ],
    [
      (state) => Object.assign(state, { uncopied: 300 * 1024 ** 2 }),
      "warning log_not_copied: 300 MiB of the write-ahead log are not copied into the database",
    ],
    [
      (state) => Object.assign(state, { flushes: { atMost: [[500, 1_100]], count: 1_103, sumMs: 1 } }),
      "warning flush_slow: 3 of 103 of the last flushes of the disk took longer than 500 ms",
    ],
    [(state) => state.refused.push(["full", 1]), "error writes_refused: The disk did not take writes: full"],
    [
      (state) => Object.assign(state.backup, { lastError: "the bucket is away" }),
      "error backup_failed: The last backup failed: the bucket is away",
    ],
    [(state) => Object.assign(state, { now: start + 30 * hour }), "error backup_old: The last backup is 30 hours old"],
    [
      (state) => Object.assign(state, { schedule: undefined, backup: { last: null, lastError: null } }),
      "note backup_none: There is no backup, and none is scheduled",
    ],
    [(state) => Object.assign(state, { open: 2 }), "warning failures_open: 2 causes of failures are open"],
    [
      (state) => Object.assign(state, { oldest: start - 11 * minute }),
      "warning work_late: An event waits for its function since 11 minutes",
    ],
    [
      (state) => Object.assign(state, { lag: 20 * minute }),
      "warning work_late: A run of the queue letters is due since 20 minutes",
    ],
    [
      (state) => state.limits.push(["sockets", 3]),
      "note limit_reached: Callers were turned away or cut off at the bound sockets, 3 times in the last minutes",
    ],
    [
      (state) => Object.assign(state, { instances: [], isJournalReached: false }),
      "error journal_away: PostgreSQL, which has the journal, does not answer",
    ],
    [
      (state) =>
        Object.assign(state, {
          instances: [instance({}), instance({ role: "replica", address: "http://two", isLive: false })],
        }),
      "warning instance_away: http://two does not tell of itself",
    ],
    [
      (state) =>
        Object.assign(state, {
          instances: [instance({}), instance({ role: "replica", address: "http://two", lag: 5_000 })],
        }),
      "warning replica_behind: http://two is 5000 commits behind",
    ],
    [
      (state) =>
        Object.assign(state, {
          instances: [instance({}), instance({ role: "replica", address: "http://two", files: "b" })],
        }),
      "note other_files: http://two has other project files than the leader",
    ],
    [
      (state) =>
        Object.assign(state, {
          instances: [instance({}), instance({ role: "replica", address: "http://two", version: "2" })],
        }),
      "note other_version: http://two runs 2, this instance 1",
    ],
  ];
  test.each(cases)("%#: is told while the condition holds, and not before", async (change, line) => {
    const { state, status } = well();
    status.start(new AbortController().signal);
    expect(await status.now()).toEqual({ isWell: true, items: [] });
    change(state);
    const found = await status.now();
    expect(told(found)).toEqual([line]);
    expect(found.isWell).toBe(line.startsWith("note"));
    expect(found.items[0]?.remedy).not.toBe("");
  });
});

test("a condition is told since its first look; a value that changes keeps the time, a condition that comes again has a new time", async () => {
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

test("limits that strangers reach every day are no condition; totals of before the start are none", async () => {
  const { state, status } = well();
  state.refused = [["full", 2]];
  state.limits = [["sockets", 9]];
  status.start(new AbortController().signal);
  state.limits = [
    ["sockets", 9],
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
