import { expect, test } from "bun:test";
import type { Overview } from "@socle/protocol";
import { openServer } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

const server = await openServer({
  collections: [{ name: "posts", fields: [] }],
  settings: { SERVICE_METRICS_TOKEN: "scrape-me" },
});
const { request } = server;
const token = await server.admin();

test("the overview: the stored objects, and the requests", async () => {
  await request("POST", "/api/posts", { body: {} });
  await request("GET", "/api/posts/none");
  await server.service.storage.store(system, async (file) => {
    await file.write(new Uint8Array(3));
    return { filename: "a", visibility: "protected" };
  });
  const socket = await server.connect();
  const { status, body: overview } = await request<Overview>("GET", "/api/admin/overview", { token });
  expect(status).toBe(200);
  expect(overview).toMatchObject({
    version: "test",
    collections: [{ name: "posts", records: 1 }],
    users: 1,
    storage: { files: 1, size: 3 },
    sockets: 1,
    deliveries: { waiting: 0, running: 0, failed: 0 },
    failedRuns: { functions: 0, jobs: 0, queues: 0 },
  });
  expect(overview.residentMemory).toBeGreaterThan(1e6);
  expect(overview.database.size + overview.database.walSize).toBeGreaterThan(4_096);
  expect(Math.abs(Date.parse(overview.startedAt) + overview.uptime * 1_000 - Date.now())).toBeLessThan(2_000);
  expect(overview.requests).toHaveLength(60);
  const sum = (name: "requests" | "clientErrors" | "errors"): number =>
    overview.requests.reduce((all, minute) => all + minute[name], 0);
  // The overview shows no request of itself: further looks change no figure of the charts.
  const asked = sum("requests");
  for (let n = 0; n < 3; n++) await request("GET", "/api/admin/overview", { token });
  await request("GET", "/_/");
  await request("GET", "/api/administrators");
  const { body: later } = await request<Overview>("GET", "/api/admin/overview", { token });
  expect(later.requests.reduce((all, minute) => all + minute.requests, 0)).toBe(asked + 1);
  expect(later.week.reduce((all, hour) => all + hour.requests, 0)).toBe(asked + 1);
  expect(later.backup).toEqual({ last: null, error: null, behind: null });
  expect(later.disk.free).toBeGreaterThan(0);
  expect(Date.parse(later.disk.growth.since)).toBeLessThanOrEqual(Date.now());
  expect(Number.isInteger(later.disk.growth.bytes)).toBe(true);
  expect([sum("requests") >= 2, sum("clientErrors") >= 1, sum("errors")]).toEqual([true, true, 0]);
  socket.socket.close();
});

test("metrics: for the token of the configuration and for admins, in Prometheus' text format", async () => {
  const get = (authorization?: string) =>
    request("GET", "/metrics", authorization === undefined ? {} : { headers: { Authorization: authorization } });
  const member = await server.register("member@example.com");
  for (const [authorization, status] of [
    [undefined, 401],
    ["Bearer scrape", 401],
    ["Bearer scrape-me2", 401],
    [`Bearer ${member.accessToken}`, 403],
    [`Bearer ${token}`, 200],
  ] as const)
    expect([authorization, (await get(authorization)).status]).toEqual([authorization, status]);

  const answer = await get("Bearer scrape-me");
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  // The token opens nothing else.
  expect((await request("GET", "/api/admin/overview", { token: "scrape-me" })).status).toBe(401);
  const lines = new TextDecoder().decode(answer.bytes).trimEnd().split("\n");
  const types = new Map<string, string>();
  const samples = new Set<string>();
  for (const line of lines) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "TYPE") types.set(name, rest);
    if (kind !== undefined) continue;
    const [, sample = "", metric = "", value = ""] =
      /^((\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})?) (\S+)$/.exec(line) ?? [];
    expect([line, types.has(metric.replace(/_(bucket|sum|count)$/, "")) || types.has(metric)]).toEqual([line, true]);
    expect(Number.isFinite(Number(value))).toBe(true);
    expect(samples.has(sample)).toBe(false);
    samples.add(sample);
  }
  expect([...types.values()].every((type) => ["gauge", "counter", "histogram"].includes(type))).toBe(true);
  expect([...samples]).toEqual(
    expect.arrayContaining([
      "socle_files",
      "socle_files_size_bytes",
      "socle_http_requests_in_flight",
      'socle_database_flush_duration_seconds_bucket{le="+Inf"}',
      "socle_database_flush_failures_total",
      'socle_database_writes_refused_total{cause="full"}',
      "socle_database_checkpoint_lag_bytes",
      "socle_events",
      "socle_events_size_bytes",
      "socle_events_oldest_age_seconds",
      "socle_event_loop_lag_seconds",
      "socle_ready",
      "socle_function_oldest_waiting_seconds",
      'socle_runs_total{kind="job",status="failed"}',
      'socle_run_duration_seconds_count{kind="function"}',
      "socle_script_processes_lost_total",
      'socle_limit_reached_total{limit="logins"}',
      'socle_limit_reached_total{limit="socketFrames"}',
    ]),
  );
  expect([...samples].some((sample) => sample.startsWith("socle_disk_free_bytes{path="))).toBe(true);
  // Every write of this test was flushed, and no write was refused.
  const numberOf = (name: string): number => Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
  expect(numberOf("socle_database_flush_duration_seconds_count")).toBeGreaterThan(2);
  expect(numberOf('socle_database_writes_refused_total{cause="full"}')).toBe(0);
  expect(numberOf("socle_events")).toBeGreaterThan(2);
  expect([...types.keys()]).toContain("socle_http_request_duration_seconds");
});
