import { expect, test } from "bun:test";
import { SocleError } from "@socle/client";
import type { FieldDefinition } from "@socle/protocol";
import { guessMapping } from "../mapping/mapping.ts";
import type { FileFormat, SourceRow } from "../source/source.ts";
import { detectFormat, readColumns, readRows } from "../source/source.ts";
import { ImportRun, maxKept, type RejectedRow, type RunOptions } from "./import-run.ts";
import { Lookup } from "./lookup.ts";
import { type ImportPlan, prepareRow } from "./prepare.ts";
import { rejectedFile } from "./rejected-file.ts";

function failure(status: number, retryAfter?: number): SocleError {
  const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return new SocleError(new Response(null, { status, headers }), { code: "bad_request", message: `HTTP ${status}` });
}

async function* rowsOf(count: number): AsyncGenerator<SourceRow, void> {
  for (let i = 0; i < count; i++) yield { number: i + 2, cells: [i], problem: null, part: (i + 1) / count };
}

function runOf(options: Partial<RunOptions>): ImportRun {
  let time = 0;
  return new ImportRun({
    rows: rowsOf(10),
    prepare: async ({ cells }) => ({ id: null, values: { n: Number(cells[0]) }, problems: [] }),
    send: async () => undefined,
    isSignedIn: () => true,
    isAlive: async () => undefined,
    now: () => time,
    sleep: async (ms) => {
      time += ms;
    },
    ...options,
  });
}

test("10,000 rows of which 7 are refused", async () => {
  const bad = new Set([3, 77, 500, 1_234, 5_000, 9_998, 9_999]);
  let open = 0;
  let most = 0;
  const run = runOf({
    rows: rowsOf(10_000),
    send: async ({ values }) => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 0));
      open -= 1;
      if (bad.has(Number(values["n"]))) throw failure(400);
    },
  });
  await run.start();
  const { phase, stored, rejected, kept, part } = run.state();
  expect({ phase, stored, rejected, part }).toEqual({ phase: "done", stored: 9_993, rejected: 7, part: 1 });
  expect(kept.map(({ row }) => row.number - 2).sort((a, b) => a - b)).toEqual([...bad]);
  expect(most).toBe(6);
});

test("a limit, a lost session and a stopped service make it wait, not fail", async () => {
  const failures = [failure(429, 2), failure(503), failure(401), failure(401)];
  let tries = 0;
  let signedIn = false;
  const sent: unknown[] = [];
  const run = runOf({
    isSignedIn: () => {
      signedIn = !signedIn;
      return !signedIn;
    },
    send: async ({ values }) => {
      tries += 1;
      const error = failures.shift();
      if (error !== undefined) throw error;
      sent.push(values["n"]);
    },
  });
  await run.start();
  expect(run.state()).toMatchObject({ phase: "done", stored: 10, rejected: 0 });
  expect(sent.length).toBe(10);
  expect(new Set(sent).size).toBe(10);
  expect(tries).toBe(14);
});

test("a creation without an answer is not tried again, an update is", async () => {
  const broken = (id: string | null): ImportRun => {
    let isFirst = true;
    return runOf({
      rows: rowsOf(2),
      prepare: async () => ({ id, values: {}, problems: [] }),
      send: async () => {
        if (!isFirst) return;
        isFirst = false;
        throw new TypeError("broken");
      },
    });
  };
  const creating = broken(null);
  await creating.start();
  expect(creating.state()).toMatchObject({ stored: 1, rejected: 1 });
  const updating = broken("rec_1");
  await updating.start();
  expect(updating.state()).toMatchObject({ stored: 2, rejected: 0 });
});

test("cancelling sends nothing more", async () => {
  let sent = 0;
  const run: ImportRun = runOf({
    rows: rowsOf(1_000),
    send: async () => {
      sent += 1;
      if (sent === 20) run.cancel();
    },
  });
  await run.start();
  expect(run.state().phase).toBe("cancelled");
  expect(sent).toBeLessThan(30);
  expect(run.state().stored).toBe(sent);
});

test("rejected rows are kept up to a bound, then only counted", async () => {
  const run = runOf({
    rows: rowsOf(maxKept + 50),
    send: async () => {
      throw failure(400);
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

test("a relation is looked up once; what is not found is a problem of its field", async () => {
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
  const prepare = (name: string) =>
    prepareRow({ number: 2, cells: [name], problem: null, part: 1 }, plan, (key) => lookup.resolve(key));
  expect(await prepare("Ada")).toEqual({ id: null, values: { author: "rec_1" }, problems: [] });
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
