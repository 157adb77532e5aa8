/** The log of requests: found by the id before and after the write, also by ids of several processes; removed with the events, and beyond the number. */
import { expect, test } from "bun:test";
import { openEventLog } from "../../../test/event-log.ts";
import { temporaryFolder } from "../../../test/kit.ts";
import { causeIn, causeText, traceIn } from "./cause-text.ts";
import type { LoggedRequest } from "./index.ts";

const folder = temporaryFolder();
const day = 86_400_000;

function request(prefix: string, n: number, at: number): LoggedRequest {
  const id = `${prefix}-${n.toString(36)}`;
  const [caller, link] = [n % 3 === 0 ? null : "usr_1", n % 5 === 0 ? "trace-parent" : null];
  return { id, method: "POST", path: `/api/${n}`, status: 201, at, ms: 1.5, caller, link };
}

test("each request of some processes is found by the id, before and after the write", async () => {
  const { clock, database, events } = await openEventLog(folder, "find.db");
  const { requests } = events;
  const all = Array.from({ length: 1_300 }, (_, n) => request(n % 3 === 0 ? "aaaaaaaa" : "bbbbbbbb", n, clock.time));
  // The answer to an early request may be the last.
  for (const each of [...all.slice(1), ...all.slice(0, 1)]) requests.note(each);
  for (const each of all) expect(requests.find(each.id)).toEqual(each);
  await requests.settled();
  for (const each of all) expect(requests.find(each.id)).toEqual(each);
  for (const id of ["aaaaaaaa-1", "cccccccc-3", "aaaaaaaa", "", "aaaaaaaa-%", "evt_1"])
    expect(requests.find(id)).toBeNull();
  expect(database.reader.get("SELECT max(seq) AS n FROM _requests")).toEqual({ n: all.length });
  // The form of an earlier version.
  const early = request("dddddddd", 1, clock.time);
  await database.transact((tx) =>
    tx.run(
      "INSERT INTO _requests (seq, prefix, low, high, at, requests) VALUES (9999, 'dddddddd', 1, 1, 1, ?)",
      JSON.stringify([early]),
    ),
  );
  expect(requests.find(early.id)).toEqual(early);
  await database.close();
});

test("requests go with the events of the same time, and beyond the number of events; later requests stay", async () => {
  const { clock, database, events, append, retention } = await openEventLog(folder, "trim.db");
  const { requests } = events;
  const made: LoggedRequest[] = [];
  for (let n = 0; n < 10; n++) {
    await append("auth.login");
    made.push(request("aaaaaaaa", n, clock.time));
    requests.note(request("aaaaaaaa", n, clock.time));
    await requests.settled();
    clock.time += day;
  }
  const kept = (): number[] => made.flatMap(({ id }, n) => (requests.find(id) === null ? [] : [n]));
  await retention(100 * day, 1_000).trim();
  expect(kept()).toHaveLength(10);
  await database.transact((tx) => events.trim(tx, { until: 3, limit: 100 }));
  await retention(100 * day, 1_000).trim();
  expect(kept()).toEqual([3, 4, 5, 6, 7, 8, 9]);
  await retention(100 * day, 4).trim();
  expect(kept()).toEqual([6, 7, 8, 9]);
  await retention(0, 1_000).trim();
  expect(kept()).toEqual([]);
  await database.close();
});

test("a cause is read from its text, with the first cause of the trace and the link", () => {
  const own = { kind: "function", id: "run_1", name: "functions/a b.ts:onCreate" } as const;
  for (const cause of [
    own,
    { kind: "request", id: "a-1" } as const,
    { ...own, trace: "a-1" },
    { ...own, trace: "a-1", link: "t-p" },
    { kind: "request", id: "a-1", link: "t-p" } as const,
  ]) {
    expect(causeIn(causeText(cause))).toEqual(cause);
    expect(traceIn(causeText(cause))).toBe("trace" in cause ? cause.trace : cause.id);
  }
  expect(causeText({ kind: "request", id: "a-1", trace: "a-1" })).toBe("request a-1");
});
