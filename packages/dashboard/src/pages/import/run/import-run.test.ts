import { expect, test } from "bun:test";
import { SocleError } from "@socle/client";
import type { FieldDefinition } from "@socle/protocol";
import { guessMapping } from "../mapping/mapping.ts";
import type { FileFormat, SourceRow } from "../source/source.ts";
import { detectFormat, readColumns, readRows } from "../source/source.ts";
import { batchRows, ImportRun, maxKept, type RejectedRow, type RunOptions } from "./import-run.ts";
import { Lookup } from "./lookup.ts";
import { type ImportPlan, looksUpItself, type Prepared, prepareRow } from "./prepare.ts";
import { rejectedFile } from "./rejected-file.ts";

function failure(status: number, retryAfter?: number): SocleError {
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return new SocleError(new Response(null, { status, headers }), { code: "bad_request", message: `HTTP ${status}` });
}

/** The answer to a batch with refused operations. */
function refusal(operations: readonly number[]): SocleError {
  return new SocleError(new Response(null, { status: 400 }), {
    code: "validation_error",
    message: "not valid",
    details: operations.map((operation) => ({ operation, field: "n", rule: "max", message: "n is too large" })),
  });
}

async function* rowsOf(count: number): AsyncGenerator<SourceRow, void> {
  for (let i = 0; i < count; i++)
    yield { number: i + 2, cells: [i], isEmpty: false, problem: null, part: (i + 1) / count };
}

const numberOf = ({ values }: Prepared): number => Number(values["n"]);

function runOf(options: Partial<RunOptions>): ImportRun {
  let time = 0;
  return new ImportRun({
    id: "imp_test",
    rows: rowsOf(10),
    prepare: async ({ cells }) => ({ id: null, values: { n: Number(cells[0]) }, problems: [] }),
    send: async () => undefined,
    sendBatch: async () => undefined,
    isSignedIn: () => true,
    isAlive: async () => undefined,
    now: () => time,
    sleep: async (ms) => {
      time += ms;
    },
    ...options,
  });
}

test("10,000 rows of which 7 are refused: in batches, in the order of the file", async () => {
  const bad = new Set([3, 77, 500, 1_234, 5_000, 9_998, 9_999]);
  const stored: number[] = [];
  let requests = 0;
  let open = 0;
  let most = 0;
  const run = runOf({
    rows: rowsOf(10_000),
    sendBatch: async (rows) => {
      requests += 1;
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 0));
      open -= 1;
      const refused = rows.flatMap((row, i) => (bad.has(numberOf(row)) ? [i] : []));
      if (refused.length > 0) throw refusal(refused);
      stored.push(...rows.map(numberOf));
    },
    send: async () => {
      throw new Error("No row goes alone.");
    },
  });
  await run.start();
  const { phase, rejected, kept, part } = run.state();
  expect({ phase, stored: run.state().stored, rejected, part }).toEqual({
    phase: "done",
    stored: 9_993,
    rejected: 7,
    part: 1,
  });
  expect(kept.map(({ row }) => row.number - 2)).toEqual([...bad]);
  expect(kept[0]?.problems).toEqual([expect.objectContaining({ field: "n", message: "n is too large" })]);
  expect(stored).toEqual(Array.from({ length: 10_000 }, (_, i) => i).filter((n) => !bad.has(n)));
  // A batch with refused rows goes out a second time, without the refused rows.
  expect(requests).toBe(10_000 / batchRows + 5);
  expect(most).toBe(1);
});

test("a refusal that does not name all of its rows sends the rows singly, six at a time", async () => {
  const alone: number[] = [];
  let batches = 0;
  let open = 0;
  let most = 0;
  const run = runOf({
    rows: rowsOf(2 * batchRows),
    sendBatch: async (rows) => {
      batches += 1;
      if (rows.some((row) => numberOf(row) === 7)) throw failure(403);
    },
    send: async (row) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 0));
      open -= 1;
      if (numberOf(row) === 7) throw failure(403);
      alone.push(numberOf(row));
    },
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "done", stored: 2 * batchRows - 1, rejected: 1 });
  expect(run.state().kept.map(({ row }) => row.number)).toEqual([9]);
  expect(alone.length).toBe(batchRows - 1);
  expect([batches, most]).toEqual([2, 6]);
});

test("a value that a batch would take for a reference goes alone", async () => {
  const inBatches: unknown[] = [];
  const alone: unknown[] = [];
  const run = runOf({
    rows: rowsOf(3),
    prepare: async ({ cells }) => ({ id: null, values: { json: cells[0] === 1 ? { $ref: 0 } : null }, problems: [] }),
    sendBatch: async (rows) => inBatches.push(...rows.map(({ values }) => values["json"])),
    send: async ({ values }) => alone.push(values["json"]),
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "done", stored: 3, rejected: 0 });
  expect(inBatches).toEqual([null, null]);
  expect(alone).toEqual([{ $ref: 0 }]);
});

test("a limit, a lost session and a stopped service make the import wait, not fail", async () => {
  const failures = [failure(401), failure(401), failure(429, 2), failure(503), failure(401)];
  let tries = 0;
  let signedIn = false;
  const sent: unknown[] = [];
  const attempt = async (rows: readonly Prepared[]): Promise<void> => {
    tries += 1;
    const error = failures.shift();
    if (error !== undefined) throw error;
    sent.push(...rows.map(numberOf));
  };
  const run = runOf({
    isSignedIn: () => {
      signedIn = !signedIn;
      return !signedIn;
    },
    sendBatch: attempt,
    send: (row) => attempt([row]),
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "done", stored: 10, rejected: 0 });
  expect(sent.length).toBe(10);
  expect(new Set(sent).size).toBe(10);
  // Two requests of the lost session, a request that is turned away, and then each row alone, two rows twice.
  expect(tries).toBe(15);
});

test("a service without time for batches gets single rows", async () => {
  let batches = 0;
  const run = runOf({
    rows: rowsOf(5 * batchRows),
    sendBatch: async () => {
      batches += 1;
      throw failure(503);
    },
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "done", stored: 5 * batchRows, rejected: 0 });
  expect(batches).toBe(3);
});

test("a creation without a response is not tried again, an update is", async () => {
  const broken = (id: string | null): ImportRun => {
    let isFirst = true;
    return runOf({
      rows: rowsOf(batchRows + 2),
      prepare: async () => ({ id, values: {}, problems: [] }),
      sendBatch: async () => {
        if (!isFirst) return;
        isFirst = false;
        throw new SocleError(null, { code: "offline", message: "broken" });
      },
    });
  };
  const creating = broken(null);
  await creating.start();
  // The batch may or may not be stored: each of its rows is reported.
  expect(creating.state()).toMatchObject({ stored: 2, rejected: batchRows });
  const updating = broken("rec_1");
  await updating.start();
  expect(updating.state()).toMatchObject({ stored: batchRows + 2, rejected: 0 });
});

test("cancelling sends nothing more, and counts the stored rows", async () => {
  let sent = 0;
  const run: ImportRun = runOf({
    rows: rowsOf(1_000),
    sendBatch: async (rows) => {
      sent += rows.length;
      if (sent === 2 * batchRows) run.cancel();
    },
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "cancelled", stored: 2 * batchRows, rejected: 0, part: 0.2 });
  expect(sent).toBe(2 * batchRows);
});

test("rejected rows are stored up to a bound, then only counted", async () => {
  const run = runOf({
    rows: rowsOf(maxKept + 50),
    sendBatch: async (rows) => {
      throw refusal(rows.map((_, i) => i));
    },
  });
  await run.start();
  expect(run.state().rejected).toBe(maxKept + 50);
  expect(run.state().kept).toHaveLength(maxKept);
});

test("a file that cannot be read on ends the run with the reason", async () => {
  async function* rows(): AsyncGenerator<SourceRow, void> {
    yield* rowsOf(3);
    throw new Error("endless");
  }
  const run = runOf({ rows: rows() });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "failed", stored: 3, error: new Error("endless") });
});

test("a relation is looked up once; a missing target is a problem of its field", async () => {
  const asked: unknown[] = [];
  const lookup = new Lookup(async ({ value }) => {
    asked.push(value);
    return value === "Ada" ? "rec_1" : null;
  });
  const field: FieldDefinition = { name: "author", type: "relation", collection: "authors" };
  const [guess] = guessMapping({ fields: [field], columns: ["author"], sample: [], collections: [] });
  if (guess === undefined) throw new Error("no mapping");
  const mapping = { ...guess, conversion: { ...guess.conversion, relationBy: "name" } };
  const plan: ImportPlan = {
    collection: "posts",
    mappings: [mapping],
    match: null,
    isProtected: true,
    hasTypes: false,
  };
  const prepare = (name: string) => prepareRow({ cells: [name], problem: null }, plan, (key) => lookup.resolve(key));
  expect(await prepare("Ada")).toEqual({ id: null, values: { author: "rec_1" }, problems: [] });
  // Only a row with a relation to rows before the row goes alone.
  expect(looksUpItself(plan)).toBe(false);
  expect(looksUpItself({ ...plan, collection: "authors" })).toBe(true);
  expect((await prepare("Ada")).values).toEqual({ author: "rec_1" });
  expect((await prepare("Bob")).problems).toEqual([{ field: "author", message: expect.stringContaining("“Bob”") }]);
  expect(asked).toEqual(["Ada", "Bob"]);
});

test("rejected rows become a file that can be imported again", async () => {
  const original = new File(['a;b\r\n"x;""y";\r\n"";"=1"\r\n'], "x.csv");
  const format: FileFormat = await detectFormat(original);
  const columns = await readColumns(original, format);
  const kept: RejectedRow[] = [];
  for await (const row of readRows(original, format, columns))
    kept.push({ row, problems: [{ field: "b", message: "is required" }] });
  const { parts } = rejectedFile(kept, format, columns);
  expect(parts.join("")).toBe('\ufeffa;b;error\r\n"x;""y";;b: is required\r\n"";=1;b: is required\r\n');
  const again = new File(parts, "x.csv");
  const rows: unknown[] = [];
  for await (const { cells } of readRows(again, format, await readColumns(again, format))) rows.push(cells.slice(0, 2));
  expect(rows).toEqual(kept.map(({ row }) => row.cells));
});
