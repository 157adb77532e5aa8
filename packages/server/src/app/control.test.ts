/** Tests of the control socket: what waits for a reader of `socle run` that stops. */
import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "../../test/kit.ts";
import { askService, ControlServer, type LogLine } from "./control.ts";

const lines = 40_000;
const request = { kind: "job", name: "noisy" } as const;

/** A service with runs that log more at once than may wait, and say when the runs are done. */
function noisyService() {
  const database = join(temporaryFolder(), "socle.db");
  const done = Promise.withResolvers<void>();
  const server = new ControlServer(database, async (_request, { onLog }) => {
    for (let n = 0; n < lines; n++) onLog({ level: "INFO", message: "x".repeat(1_000) });
    done.resolve();
    return { error: null };
  });
  afterAll(() => server.stop());
  return { database, done: done.promise };
}

test("unread log lines are left out beyond a bound, and counted; the outcome is reported", async () => {
  const { database } = noisyService();
  const heard: LogLine[] = [];
  expect(await askService(database, request, { onLog: (line) => void heard.push(line) })).toEqual({ error: null });
  const [told, ...more] = heard.filter(({ level }) => level === "WARN");
  expect(more).toEqual([]);
  const leftOut = Number(told?.fields?.["lines"]);
  expect(heard.length - 1 + leftOut).toBe(lines);
  expect((heard.length - 1) * 1_000).toBeLessThan(9 * 1024 ** 2);
  expect(heard.at(-1)).toBe(told);
});

test("a run ends also without a reader", async () => {
  const { database, done } = noisyService();
  const socket = connect(join(`${database}-control`, "socle-control.socket"));
  socket.pause();
  const body = JSON.stringify(request);
  socket.write(`POST / HTTP/1.1\r\nHost: socle\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await done;
  socket.destroy();
});
