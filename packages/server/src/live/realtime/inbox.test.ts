/** Tests of inboxes: whose socket is ended when too much waits, and whose is not. */
import { describe, expect, test } from "bun:test";
import { Inbox, Inboxes } from "./inbox.ts";

/** An inbox, and whether its socket was ended. */
class Watched extends Inbox {
  isEnded = false;

  constructor(all: Inboxes) {
    super(all, () => {
      this.isEnded = true;
    });
  }
}

const frame = "x".repeat(1_000 - 64);

describe("inboxes", () => {
  test("that are full together end the socket with the fullest, not one whose inbox is empty", () => {
    const all = new Inboxes(10_000);
    const floods = [4, 3, 3].map((frames) => {
      const flood = new Watched(all);
      for (let n = 0; n < frames; n++) flood.put(frame);
      return flood;
    });
    expect(all.bytes).toBe(10_000);
    const innocent = new Watched(all);
    innocent.put(frame);
    expect([...floods, innocent].map(({ isEnded }) => isEnded)).toEqual([true, false, false, false]);
    expect(all.bytes).toBe(7_000);
    expect(innocent.take()).toBe(frame);
    expect(innocent.take()).toBeUndefined();
    for (const flood of floods) flood.clear();
    expect(all.bytes).toBe(0);
  });

  test("end the one that sends when its own is the fullest", () => {
    const all = new Inboxes(10_000);
    const [flood, other] = [new Watched(all), new Watched(all)];
    for (let n = 0; n < 4; n++) other.put(frame);
    for (let n = 0; n < 7; n++) flood.put(frame);
    expect([flood.isEnded, other.isEnded]).toEqual([true, false]);
    expect(all.bytes).toBe(4_000);
  });

  test("take a first frame also when everybody's holds a single one that is no smaller", () => {
    const all = new Inboxes(3_000);
    const sockets = [1, 2, 3, 4].map(() => new Watched(all));
    for (const socket of sockets) socket.put(frame);
    expect(sockets.map(({ isEnded }) => isEnded)).toEqual([true, false, false, false]);
    const large = new Watched(all);
    large.put(frame.repeat(4));
    expect(large.isEnded).toBe(false);
    expect(large.take()).toBe(frame.repeat(4));
  });

  test("of one socket have a bound of their own, which ends it alone", () => {
    const all = new Inboxes();
    const [flood, calm] = [new Watched(all), new Watched(all)];
    calm.put(frame);
    for (let n = 0; n < 262; n++) flood.put(frame);
    expect(flood.isEnded).toBe(false);
    flood.put(frame);
    expect([flood.isEnded, calm.isEnded, all.bytes]).toEqual([true, false, 1_000]);
  });
});
