/** Live settings with the executable: a changed value is in force in all processes, lasts over a restart, and the environment wins over the value. */
import { expect, test } from "bun:test";
import type { ConfigEntry, EffectiveConfig } from "@socle/protocol";
import { post, project, type Running, serve, singleService, until } from "./kit.ts";

singleService("process");
const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: "correct horse" };

async function adminOf({ url }: Running) {
  const credentials = { email: env.SERVICE_ADMIN_EMAIL, password: env.SERVICE_ADMIN_PASSWORD };
  const { accessToken } = (await (await post(`${url}/api/auth/login`, credentials)).json()) as { accessToken: string };
  const headers = { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" };
  return {
    put: (key: string, value: unknown) =>
      fetch(`${url}/api/admin/config/${key}`, { method: "PUT", headers, body: JSON.stringify({ value }) }),
    async events(): Promise<number> {
      const answer = await fetch(`${url}/api/admin/events?type=items.*&limit=1`, { headers });
      return ((await answer.json()) as { total: number }).total;
    },
    async entry(key: string): Promise<Partial<ConfigEntry>> {
      const { keys } = (await (await fetch(`${url}/api/admin/config`, { headers })).json()) as EffectiveConfig;
      return keys.find((each) => each.key === key) ?? {};
    },
  };
}

test("a changed setting is in force at once, and kept over kill -9; a value of the environment wins, and the setting is back without the value", async () => {
  const items = { name: "items", fields: [{ name: "n", type: "integer" }], permissions: { create: "public" } };
  const cwd = await project({ collections: [items] });
  const first = await serve(cwd, { env: { ...env, SERVICE_PROCESSES: "2" } });
  const admin = await adminOf(first);
  for (let n = 0; n < 30; n++) expect((await post(`${first.url}/api/items`, { n })).status).toBe(201);
  expect(await admin.events()).toBe(30);
  expect((await admin.put("events.maxCount", 5)).status).toBe(200);
  await until(async () => (await admin.events()) <= 5);
  expect((await admin.put("dropped.keep", "3d")).status).toBe(200);
  expect((await admin.put("dropped.keep", "never")).status).toBe(400);
  expect(await admin.entry("dropped.keep")).toMatchObject({ value: 259_200_000, source: "settings", isLive: true });
  first.signal("SIGKILL");
  await first.exited;

  const given = await serve(cwd, { env: { ...env, SERVICE_DROPPED_KEEP: "5d" } });
  const other = await adminOf(given);
  expect(await other.entry("dropped.keep")).toMatchObject({ value: 432_000_000, source: "environment" });
  expect((await other.put("dropped.keep", "1d")).status).toBe(409);
  expect(await given.stop()).toBe(0);

  const last = await serve(cwd, { env });
  expect(await (await adminOf(last)).entry("dropped.keep")).toMatchObject({ value: 259_200_000, source: "settings" });
  expect(last.output()).not.toContain("A stored setting has no effect");
  expect(await last.stop()).toBe(0);
});

test("changed settings are in force in reader processes, at once and after a restart; a value of the environment wins", async () => {
  const items = { name: "items", fields: [{ name: "n", type: "integer" }], permissions: { read: "public" } };
  const cwd = await project({ collections: [items] });
  const several = { ...env, SERVICE_PROCESSES: "3" };
  const first = await serve(cwd, { env: several });
  const admin = await adminOf(first);
  /** How many of 60 requests are answered: each has a connection of its own, so that all processes have requests. */
  const answered = async ({ url }: Running): Promise<number> => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => fetch(`${url}/api/items`, { headers: { Connection: "close" } })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    return statuses.filter((status) => status === 200).length;
  };
  expect(await answered(first)).toBe(60);
  expect((await admin.put("limits.rate.records", "20/h")).status).toBe(200);
  expect(await answered(first)).toBe(20);
  expect(await answered(first)).toBe(0);
  expect((await admin.put("limits.rate.records", null)).status).toBe(200);
  expect(await answered(first)).toBe(60);
  // Each list is another list: an equal list would have a kept answer.
  let n = 0;
  const slow = (running: Running): number => running.output().split("A query was slow").length - 1;
  const list = ({ url }: Running) =>
    Promise.all(
      Array.from({ length: 40 }, () =>
        fetch(`${url}/api/items?filter=${encodeURIComponent(`n = ${++n}`)}`, { headers: { Connection: "close" } }),
      ),
    );
  expect((await admin.put("log.slowQuery", "1d")).status).toBe(200);
  const before = slow(first);
  await list(first);
  expect((await admin.put("log.slowQuery", 0)).status).toBe(200);
  await list(first);
  await until(async () => slow(first) >= before + 40);
  expect(slow(first)).toBe(before + 40);
  expect((await admin.put("limits.rate.records", "20/h")).status).toBe(200);
  expect(await first.stop()).toBe(0);

  const again = await serve(cwd, { env: several });
  expect(await answered(again)).toBe(20);
  expect(await again.stop()).toBe(0);
  const given = await serve(cwd, { env: { ...several, SERVICE_LIMITS_RATE_RECORDS: "off" } });
  expect(await answered(given)).toBe(60);
  expect(await (await adminOf(given)).entry("limits.rate.records")).toMatchObject({
    value: "off",
    source: "environment",
  });
  expect(await given.stop()).toBe(0);
});
