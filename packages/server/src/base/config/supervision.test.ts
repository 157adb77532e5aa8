/** The variables of a service manager in the environment. */
import { expect, test } from "bun:test";
import { supervisionOf } from "./index.ts";

test.each<[environment: Record<string, string>, expected: ReturnType<typeof supervisionOf>]>([
  [{}, null],
  [{ NOTIFY_SOCKET: "" }, null],
  [{ NOTIFY_SOCKET: "vsock:2:1" }, null],
  [{ NOTIFY_SOCKET: "/run/notify" }, { socket: "/run/notify", watchdogMs: null }],
  [
    { NOTIFY_SOCKET: "@notify", WATCHDOG_USEC: "30000000" },
    { socket: "@notify", watchdogMs: 30_000 },
  ],
  [
    { NOTIFY_SOCKET: "@notify", WATCHDOG_USEC: "soon" },
    { socket: "@notify", watchdogMs: null },
  ],
  [{ WATCHDOG_USEC: "30000000" }, null],
])("%j", (environment, expected) => {
  expect(supervisionOf(environment)).toEqual(expected);
});
