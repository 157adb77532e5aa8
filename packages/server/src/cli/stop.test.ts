/** The end of `socle serve`: a disk that fails at the end is told like any other failure. */
import { expect, test } from "bun:test";
import { quietLogger } from "../../test/kit.ts";
import { stop } from "./commands/serve.ts";

test("a disk that fails while the service stops is an entry of the log, and the stop does not throw", async () => {
  const log: string[] = [];
  const failed = Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });
  expect(await stop({ stop: () => Promise.reject(failed) }, quietLogger(log))).toBe(false);
  expect(log).toEqual([expect.stringMatching(/^ERROR The service did not stop in order/)]);
});

test("a stop in order is logged", async () => {
  const log: string[] = [];
  expect(await stop({ stop: () => Promise.resolve() }, quietLogger(log))).toBe(true);
  expect(log).toEqual(["INFO Stopped"]);
});
