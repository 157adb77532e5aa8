/** `socle audit export`: beside a service, after a stop and after a kill of the service. */
import { expect, test } from "bun:test";
import { post, project, serve, singleService, socle } from "./kit.ts";

singleService("process");

test("the audit is printed beside a service and without a service, in both formats and within times", async () => {
  const cwd = await project();
  let server = await serve(cwd);
  expect((await socle(["read-only", "on"], { cwd })).code).toBe(0);
  expect((await socle(["read-only", "off"], { cwd })).code).toBe(0);
  expect((await post(`${server.url}/api/auth/login`, { email: "a@example.com", password: "wrong" })).status).toBe(401);
  const types = async (...options: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await socle(["audit", "export", ...options], { cwd });
    expect([code, stderr]).toEqual([0, ""]);
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => (JSON.parse(line.slice(line.indexOf("{"))) as { type: string }).type);
  };
  const all = ["admin.readOnly.on", "admin.readOnly.off", "auth.failed"];
  // The entry of the failed sign-in is written after the answer.
  while ((await types()).length < 3) await Bun.sleep(20);
  expect(await types()).toEqual(all);
  const syslog = await socle(["audit", "export", "--format", "syslog"], { cwd });
  expect(syslog.stdout).toMatch(/^<109>1 \S+Z \S+ socle - admin\.readOnly\.on - \{.*\n<109>1 .*\n<108>1 .*\n$/);
  expect(await types("--until", "2020-01-01")).toEqual([]);
  server.signal("SIGKILL");
  await server.exited;
  expect(await types("--since", "2020-01-01T00:00:00Z")).toEqual(all);
  server = await serve(cwd);
  expect(await server.stop()).toBe(0);
  expect(await types()).toEqual(all);
  server = await serve(cwd);
  expect(await types()).toEqual(all);
  expect(await server.stop()).toBe(0);
});

test.each([
  [["--format", "xml"], '--format must be jsonl or syslog, not "xml"'],
  [["--since", "yesterday"], '--since must be a time such as 2026-03-01T09:30:00Z, not "yesterday"'],
])("%j is refused", async (options, message) => {
  const { code, stderr } = await socle(["audit", "export", ...options], { cwd: await project() });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
