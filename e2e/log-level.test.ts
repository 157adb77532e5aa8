/** `socle log level`: changes the level of a running service until the next start, in all processes. */
import { expect, test } from "bun:test";
import { project, serve, singleService, socle, until } from "./kit.ts";

singleService("process");

for (const processes of [1, 3])
  test(`the level of the log is changed at once, audited, and not kept, with processes: ${processes}`, async () => {
    const cwd = await project({ config: { processes } });
    let server = await serve(cwd);
    const level = (...words: string[]) => socle(["log", "level", ...words], { cwd });
    expect((await level()).stdout).toBe("The service logs from INFO on\n");
    await socle(["read-only", "on"], { cwd });
    await until(() => server.output().includes("An admin: readOnly.on"));
    expect((await level("warn")).stdout).toBe(
      "The service logs from WARN on until the next start, then from INFO on\n",
    );
    await socle(["read-only", "off"], { cwd });
    const wrong = await level("loud");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('not "loud"')]);
    expect((await level("debug")).code).toBe(0);
    await socle(["read-only", "on"], { cwd });
    await until(() => server.output().split("An admin: readOnly.on").length === 3);
    expect(server.output()).not.toContain("An admin: readOnly.off");
    const { stdout } = await socle(["audit", "export"], { cwd });
    expect(stdout).toContain('"type":"admin.log.level"');
    expect(await server.stop()).toBe(0);
    const gone = await level("debug");
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("no service runs on it")]);
    server = await serve(cwd);
    expect((await level()).stdout).toBe("The service logs from INFO on\n");
    expect(await server.stop()).toBe(0);
  });
