/** Tests of failure traces: the events of failed logins, their bound, and their readers. */
import { describe, expect, spyOn, test } from "bun:test";
import { parseChannel } from "@socle/protocol";
import { eventsSince, lastSeq, openApi } from "../../../test/kit.ts";
import { FailureTrace } from "./login-guard.ts";

const api = await openApi({});

/** Runs `work` with a stopped clock for traces, which only `set` moves. */
async function atTime(work: (set: (now: number) => void) => Promise<void>): Promise<void> {
  let now = Math.ceil(performance.now());
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    await work((time) => {
      now = time;
    });
  } finally {
    clock.mockRestore();
  }
}

function traceOf(): FailureTrace {
  return new FailureTrace({
    ...api.service,
    logger: api.parts.logger,
    type: "auth.failed",
    message: "Logins failed in a test",
  });
}

/** The appended events, after their write. */
async function written(seq: number): Promise<object[]> {
  await api.service.database.transact(() => undefined);
  return (await eventsSince(api.service, seq)).map(({ payload }) => payload);
}

describe("over HTTP", () => {
  test("a failure and a lock-out are in the log and in the event log, for admins only", async () => {
    const admin = await api.admin();
    const { accessToken } = await api.register("plain@example.com");
    const seq = await lastSeq(api.service);
    for (let i = 0; i < 12; i++)
      await api.request("POST", "/api/auth/login", {
        body: { email: "Plain@example.com", password: "a wrong secret" },
        headers: { "x-test-address": "198.51.100.7" },
      });
    await written(seq);
    const payload = { email: "plain@example.com", address: "198.51.100.7", count: 1 };
    expect(await eventsSince(api.service, seq)).toEqual([
      { type: "auth.failed", payload },
      { type: "auth.locked", payload },
    ]);
    const path = "/api/admin/events?type=auth.locked";
    const list = await api.request<{ items: { payload: object }[] }>("GET", path, { token: admin });
    expect(list.body.items.map((item) => item.payload)).toEqual([payload]);
    expect((await api.request("GET", path, { token: accessToken })).status).toBe(403);
    for (const channel of ["auth.failed", "auth.locked", "auth.*"]) expect(parseChannel(channel)).toBeNull();
    expect(api.entries("Logins failed").map(({ level, fields }) => [level, fields])).toEqual([["INFO", payload]]);
    expect(JSON.stringify(await eventsSince(api.service, seq)) + api.log.join()).not.toContain("a wrong secret");
  });

  test("a text that is no email address is not stored: the text may be a password", async () => {
    const seq = await lastSeq(api.service);
    await api.request("POST", "/api/auth/login", { body: { email: "hunter2 hunter2", password: "x" } });
    expect(await written(seq)).toEqual([{ email: null, address: "test", count: 1 }]);
  });
});

describe("a flood", () => {
  test("from an email and an address has an event a minute, with the number of failures", async () => {
    await atTime(async (set) => {
      const [trace, seq, start] = [traceOf(), await lastSeq(api.service), performance.now()];
      for (let i = 0; i < 1_000; i++) trace.note("a@example.com", "x");
      set(start + 59_999);
      trace.tick();
      expect(await written(seq)).toEqual([{ email: "a@example.com", address: "x", count: 1 }]);
      set(start + 60_000);
      trace.tick();
      trace.tick();
      expect((await written(seq)).slice(1)).toEqual([{ email: "a@example.com", address: "x", count: 999 }]);
      set(start + 200_000);
      trace.tick();
      expect((await written(seq)).length).toBe(2);
    });
  });

  test("with a hundred emails each minute does not hide the failures of others", async () => {
    await atTime(async (set) => {
      const [trace, seq, start] = [traceOf(), await lastSeq(api.service), performance.now()];
      const flood = (): void => {
        for (let i = 0; i < 100; i++) void trace.note(`flood${i}@example.com`, "x");
      };
      flood();
      void trace.note("late@example.com", "y");
      // More emails than the trace keeps apart: the last emails are counted together.
      for (let i = 0; i < 950; i++) void trace.note(`once${i}@example.com`, "z");
      let before = (await written(seq)).length;
      expect(before).toBe(100);
      for (let minute = 1; minute <= 15; minute++) {
        set(start + minute * 60_000);
        flood();
        trace.tick();
        const all = await written(seq);
        expect(all.length - before).toBeLessThanOrEqual(100);
        if (minute === 1)
          expect(all.slice(100, 102)).toEqual([
            { email: null, address: null, count: 51 },
            { email: "late@example.com", address: "y", count: 1 },
          ]);
        before = all.length;
      }
      const emails = (await written(seq)).map((payload) => String(Reflect.get(payload, "email")));
      for (let i = 0; i < 899; i++) expect(emails).toContain(`once${i}@example.com`);
      // Emails without further failures are forgotten, so that other emails are counted apart again.
      void trace.note("new@example.com", "y");
      for (const minute of [16, 17]) {
        set(start + minute * 60_000);
        flood();
        trace.tick();
      }
      expect(await written(seq)).toContainEqual({ email: "new@example.com", address: "y", count: 1 });
    });
  });

  test("with many emails has a hundred events a minute, and every failure is counted", async () => {
    await atTime(async (set) => {
      const [trace, seq, start] = [traceOf(), await lastSeq(api.service), performance.now()];
      const lines = api.entries("Logins failed in a test").length;
      for (let i = 0; i < 5_000; i++) trace.note(`n${i}@example.com`, "x");
      expect((await written(seq)).length).toBe(100);
      expect(api.entries("Logins failed in a test").length - lines).toBe(100);
      for (let minute = 1; minute <= 12; minute++) {
        set(start + minute * 60_000);
        trace.tick();
        expect((await written(seq)).length).toBeLessThanOrEqual(100 * (minute + 1));
      }
      const counts = (await eventsSince(api.service, seq)).map(({ payload }) => Number(Reflect.get(payload, "count")));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000);
    });
  });
});
