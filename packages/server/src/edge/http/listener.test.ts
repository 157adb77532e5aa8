/** The listening socket while descriptors run short: its looks, stops and starts, and the state afterwards. */
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import * as fs from "node:fs";
import type { Server } from "bun";
import { quietLogger } from "../../../test/kit.ts";
import { LimitMeter } from "../../base/logging/index.ts";
import { PortListener } from "./listener.ts";

const room = 200;
const enough = 2 * room;
const files: number[] = [];
const sockets: WebSocket[] = [];
let listener: PortListener<undefined> | null = null;
let clock: { advance: (milliseconds: number) => void; restore: () => void } | null = null;

afterEach(async () => {
  freeDescriptors();
  for (const socket of sockets.splice(0)) socket.close();
  await listener?.end();
  clock?.restore();
  [listener, clock] = [null, null];
});

function useDescriptors(): void {
  while (files.length < enough) files.push(fs.openSync("/dev/null", "r"));
}

function freeDescriptors(): void {
  for (const file of files.splice(0)) fs.closeSync(file);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(5);
}

function listen(maxConnections: number): { listener: PortListener<undefined>; starts: () => number } {
  let starts = 0;
  const serve = (port: number): Server<undefined> => {
    starts += 1;
    return Bun.serve({
      hostname: "127.0.0.1",
      port,
      reusePort: false,
      fetch: (request, server) => (server.upgrade(request) ? undefined : new Response("fine")),
      websocket: { message: () => undefined },
    });
  };
  const logger = quietLogger();
  const made = new PortListener({ serve, port: 0, maxConnections, limits: new LimitMeter(logger), logger });
  listener = made;
  return { listener: made, starts: () => starts };
}

/** Time that passes only when the test says so. */
function stopClock(): { advance: (milliseconds: number) => void; restore: () => void } {
  let now = performance.now();
  const spy = spyOn(performance, "now").mockImplementation(() => now);
  clock = {
    advance: (milliseconds) => {
      now += milliseconds;
    },
    restore: () => spy.mockRestore(),
  };
  return clock;
}

/** Waits until the port is closed. */
async function untilRefused(port: number): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`, { keepalive: false }).then(
      () => true,
      () => false,
    );
  while (await isOpen()) await Bun.sleep(5);
}

function connect(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
  sockets.push(socket);
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve(socket);
    socket.onerror = () => reject(new Error("refused"));
  });
}

describe.if(process.platform === "linux")("while descriptors run short", () => {
  test("the port is closed at once, and opens again a second later at the earliest", async () => {
    const time = stopClock();
    const { listener, starts } = listen(room);
    for (let round = 1; round <= 3; round++) {
      useDescriptors();
      await untilRefused(listener.port);
      freeDescriptors();
      time.advance(999);
      await Bun.sleep(200);
      expect(starts()).toBe(round);
      time.advance(1);
      await until(() => starts() === round + 1);
      expect(await (await fetch(`http://127.0.0.1:${listener.port}/`)).text()).toBe("fine");
    }
  });

  test("servers that have stopped with a socket are eight at most; the socket of the oldest is closed", async () => {
    const time = stopClock();
    const { listener, starts } = listen(room);
    for (let round = 1; round <= 11; round++) {
      await connect(listener.port);
      useDescriptors();
      await untilRefused(listener.port);
      expect(listener.servers.length).toBeLessThanOrEqual(8);
      freeDescriptors();
      time.advance(1_000);
      await until(() => starts() === round + 1);
    }
    expect(listener.servers.length).toBe(9);
    await until(() => sockets.filter(({ readyState }) => readyState === WebSocket.CLOSED).length === 3);
    expect(sockets.map(({ readyState }) => readyState === WebSocket.OPEN)).toEqual([
      ...Array.from({ length: 3 }, () => false),
      ...Array.from({ length: 8 }, () => true),
    ]);
  });

  test("checks that list the descriptors are few while many descriptors are free, and frequent otherwise", async () => {
    const stat = fs.statSync;
    const isFolder = (path: unknown): boolean => path === "/proc/self/fd";
    const size = Object.assign(stat("/proc/self/fd"), { size: 0 });
    const statSpy = spyOn(fs, "statSync");
    statSpy.mockImplementation(((...call: Parameters<typeof stat>) =>
      isFolder(call[0]) ? size : stat(...call)) as typeof stat);
    const listSpy = spyOn(fs, "readdirSync");
    const looks = (): number => listSpy.mock.calls.filter(([path]) => isFolder(path)).length;
    try {
      const time = stopClock();
      const { listener, starts } = listen(10_000);
      const start = looks();
      await until(() => looks() > start);
      const first = looks();
      await Bun.sleep(300);
      expect(looks()).toBe(first);
      time.advance(500);
      await until(() => looks() > first);
      await listener.end();
      expect(starts()).toBe(1);
      // With a bound that a flood may reach between two looks, no look is left out.
      listen(room);
      const before = looks();
      await until(() => looks() > before + 3);
    } finally {
      statSpy.mockRestore();
      listSpy.mockRestore();
    }
  });
});
