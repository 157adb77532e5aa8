/** The notify protocol of systemd, from a socket like the manager's: ready, alive, loading again, stopping. */
import { expect, test } from "bun:test";
import { receiver } from "./datagrams.ts";
import { project, serve, singleService, socle, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

singleService("process");

test("the manager is notified of the start, of a reload and of the stop, and of nothing else", async () => {
  const { path, received } = receiver();
  const cwd = await project();
  await write(cwd, {
    "jobs/look.ts": `export const schedule = "0 0 1 1 *"; console.log("sees", process.env.NOTIFY_SOCKET ?? "nothing");
      export default () => undefined;`,
  });
  const server = await serve(cwd, { env: { NOTIFY_SOCKET: path } });
  await until(() => received().length > 0);
  expect(received()).toEqual([`READY=1\nSTATUS=Listening on ${server.url}`]);
  server.signal("SIGHUP");
  await until(() => received().length > 2);
  expect(received().slice(1)).toEqual([expect.stringMatching(/^RELOADING=1\nMONOTONIC_USEC=\d+$/), "READY=1"]);
  expect(await server.stop()).toBe(0);
  expect(received().slice(3)).toEqual(["STOPPING=1\nSTATUS=Stopping"]);
  // The user's code must not speak for the service.
  expect(server.output()).toContain("sees nothing");
});

test("a failed start is never ready", async () => {
  const { path, received } = receiver();
  const { code } = await socle(["--port", "http"], { env: { NOTIFY_SOCKET: path } });
  expect(code).toBe(2);
  expect(received()).toEqual([]);
});

test("signs of life are sent while the event loop turns, and no longer", async () => {
  const { path, received } = receiver(`@socle-test-${crypto.randomUUID()}`);
  const env = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "200000", WATCHDOG_PID: "1" };
  const server = await serve(await project(), { env });
  const signs = (): number => received().filter((message) => message === "WATCHDOG=1").length;
  await until(() => signs() >= 4);
  server.signal("SIGSTOP");
  // Messages that were sent before the signal came.
  await Bun.sleep(100);
  const before = signs();
  await Bun.sleep(1_000);
  expect(signs()).toBe(before);
  server.signal("SIGCONT");
  await until(() => signs() > before + 2);
  expect(await server.stop()).toBe(0);
});

test("a missing manager, or a manager that does not read, is no obstacle", async () => {
  const gone = await serve(await project(), { env: { NOTIFY_SOCKET: "/nowhere/notify", WATCHDOG_USEC: "1000000" } });
  expect(await gone.stop()).toBe(0);
  expect(gone.output()).toMatch(/WARN +The service manager did not get a message message=READY=1|WARN .*READY=1/);
  const { path } = receiver();
  const unread = await serve(await project(), { env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: "2000" } });
  await until(() => unread.output().includes("The service manager did not get a message"));
  expect((await fetch(`${unread.url}/health/ready`)).status).toBe(200);
  expect(await unread.stop()).toBe(0);
});
