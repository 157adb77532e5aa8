/** Random requests with keys against a model: the same answers, and no record more or less. */
// Promises: W4.
import { afterAll, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { openApi } from "../../../../test/kit.ts";
import { randomSeed } from "../../../../test/random.ts";
import { AppError, moveTime } from "../../../base/kernel/index.ts";

const hour = 3_600_000;
const { request, register, service } = await openApi({
  collections: [
    { name: "notes", fields: [{ name: "text", type: "string", required: true }], permissions: { create: "public" } },
  ],
  settings: { SERVICE_AUTH_ACCESS_TOKEN_TTL: "10000d", SERVICE_AUTH_REFRESH_TOKEN_TTL: "10000d" },
});
const [ann, bob] = [await register("ann@example.com"), await register("bob@example.com")];
const callers = [
  { name: "ann", token: ann.accessToken },
  { name: "bob", token: bob.accessToken },
  { name: "nobody", address: "192.0.2.1" },
  { name: "nobody", address: "192.0.2.2" },
];
afterAll(() => moveTime(0));

const step = fc.record({
  caller: fc.constantFrom(...callers),
  key: fc.constantFrom("a", "b", null),
  path: fc.constantFrom("/api/notes", "/api/notes", "/api/batch"),
  text: fc.constantFrom("x", "x", "y", null),
  /** Whether the disk refuses the change. */
  fails: fc.constantFrom(false, false, false, true),
  /** Hours that pass before the request. */
  passed: fc.constantFrom(0, 0, 0, 0, 11, 25),
});

interface Kept {
  readonly request: string;
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly until: number;
}

let run = 0;
let now = 0;

test("random requests", async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 15 }), async (steps) => {
    run += 1;
    const kept = new Map<string, Kept>();
    for (const { caller, key, path, text, fails, passed } of steps) {
      // Beyond the whole hours, so that the milliseconds of the run decide nothing.
      now += passed * hour;
      moveTime(now);
      const count = () => service.records.count(service.records.collection("notes"));
      const before = count();
      const values = text === null ? {} : { text };
      const body =
        path === "/api/batch" ? { operations: [{ method: "create", collection: "notes", body: values }] } : values;
      const id = `${caller.name} ${key}`;
      const name = `${path} ${text}`;
      const known = key === null ? undefined : kept.get(id);
      const live = known !== undefined && known.until > now ? known : null;
      const refuse = () => Promise.reject(new AppError("unavailable", "no room"));
      const spies = fails
        ? (["transactFor", "transactLongFor", "transact"] as const).map((method) =>
            spyOn(service.database, method).mockImplementation(refuse),
          )
        : [];
      const answer = await request("POST", path, {
        body,
        ...(caller.token !== undefined && { token: caller.token }),
        headers: {
          ...(caller.address !== undefined && { "X-Test-Address": caller.address }),
          ...(key !== null && { "Idempotency-Key": `${run} ${key}`.replace(" ", "-") }),
        },
      });
      for (const spy of spies) spy.mockRestore();
      const replayed = answer.headers.get("idempotency-replayed");
      const done = text === null ? 400 : path === "/api/batch" ? 200 : 201;
      if (live !== null && live.request === name) {
        expect([answer.status, replayed, count()]).toEqual([live.status, "true", before]);
        expect(Buffer.from(answer.bytes).equals(live.bytes)).toBe(true);
      } else if (live !== null) {
        expect([answer.status, replayed, count()]).toEqual([400, null, before]);
        expect(answer.body["error"]?.["code"]).toBe("bad_request" as never);
      } else if (fails) {
        // Without a key, a batch of refused values needs no room on the disk.
        expect([[503, 400].includes(answer.status), replayed, count()]).toEqual([true, null, before]);
        if (key !== null) expect(answer.status).toBe(503);
      } else {
        expect([answer.status, replayed, count()]).toEqual([done, null, before + (text === null ? 0 : 1)]);
        if (key !== null) kept.set(id, { request: name, status: done, bytes: answer.bytes, until: now + 24 * hour });
      }
    }
  });
  await fc.assert(property, { numRuns: 80, seed: randomSeed("keys") });
});
