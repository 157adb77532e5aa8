/** Alarms of the executable: to a webhook and by mail, once over restarts; a configuration that cannot work ends the start. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { project, serve, singleService, socle, until } from "./kit.ts";

singleService("process");

const secret = "a secret of these alarms";

test("a condition is posted with a signature and mailed when it begins and when it is over, and not again after a restart", async () => {
  const posts: { state: string; condition: { id: string } }[] = [];
  const hook = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = await request.text();
      const [, time = "", hex] = /^t=(\d+),v1=(.*)$/.exec(request.headers.get("socle-signature") ?? "") ?? [];
      expect(hex).toBe(new Bun.CryptoHasher("sha256", secret).update(`${time}.${body}`).digest("hex"));
      posts.push(JSON.parse(body) as (typeof posts)[number]);
      return new Response();
    },
  });
  const alerts = { mail: "ops@example.com", webhook: hook.url.href, secret, after: "0.2s" };
  const cwd = await project({ config: { alerts, mail: { from: "Shop <shop@example.com>" } } });
  const told = (): string[] => posts.filter(({ condition }) => condition.id === "read_only").map(({ state }) => state);
  let server = await serve(cwd);
  await socle(["read-only", "on"], { cwd });
  await until(() => told().length === 1);
  await until(() => server.output().includes("A mail to ops@example.com: Shop: Alarm: The service is read-only"));
  expect(await server.stop()).toBe(0);
  server = await serve(cwd);
  // The second condition tells that the service has looked, and has told nothing again.
  await socle(["read-only", "off"], { cwd });
  await until(() => told().length === 2);
  expect(told()).toEqual(["began", "ended"]);
  await until(() => server.output().includes("Shop: Over: The service is read-only"));
  expect(server.output().split("Alarm: The service is read-only").length).toBe(1);
  expect(await server.stop()).toBe(0);
  await hook.stop(true);
});

test.each([
  [{ alerts: { mail: "ops" } }, 'is not valid for "alerts.mail"; allowed: an email address'],
  [{ alerts: { mail: "ops@example.com" } }, "alerts.mail: needs mail.from"],
  [{ alerts: { webhook: "example.com/hook" } }, 'its value is not valid for "alerts.webhook"'],
  [{ alerts: { webhook: "https://example.com/hook" } }, "alerts.webhook: needs alerts.secret"],
  [{ alerts: { secret: "short" } }, 'its value is not valid for "alerts.secret"'],
])("%j ends the start", async (config, message) => {
  const cwd = await project();
  await Bun.write(join(cwd, "config.json"), JSON.stringify({ port: 0, ...config }));
  const { code, stderr, stdout } = await socle(["serve"], { cwd });
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(message)]);
});
