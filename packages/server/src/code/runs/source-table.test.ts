/** The source around the errors of runs: of the loaded version, of files of the code alone, and of a bounded number of runs. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { SourceTable } from "./source-table.ts";

const file = (end: string): string => `import { fail } from "./_shared.ts";
export const schedule = "0 0 1 1 *";
export default () => {
  ${end}
};
`;

test("a failed run has the lines around its error, as the file was when loaded", async () => {
  const long = "x".repeat(300);
  const files = {
    "jobs/_shared.ts": `// one\nexport function fail() {\n  throw new Error("no"); // ${long}\n}\n// five\n// six\n`,
    "jobs/a.ts": file("fail();"),
    "jobs/b.ts": file("throw 5;"),
    "jobs/c.ts": file('throw new Error("above");').replace(/^.*\n.*\n/, 'export const schedule = "0 0 1 1 *";'),
    "jobs/d.ts": file("").replace(
      "export default () => {",
      "export default async () => {\n await import('/nowhere/at/all.ts');",
    ),
  };
  const opened = await openScripts({ files });
  const { jobs } = opened.scripts;
  const failed = async (name: string) => {
    const run = jobs.runByHand(name);
    await run?.outcome;
    await jobs.settled();
    return jobs.sourceOf(run?.runId ?? "");
  };
  // The file on the disk is another by now.
  await Bun.write(`${opened.folder}/jobs/_shared.ts`, "changed");
  const source = await failed("a");
  expect(source).toMatchObject({ filePath: "jobs/_shared.ts", line: 3, firstLine: 1 });
  expect(source?.lines).toEqual([
    "// one",
    "export function fail() {",
    expect.stringMatching(/^ {2}throw new Error\("no"\); \/\/ x+… \(\d+ characters\)$/),
    "}",
    "// five",
  ]);
  expect(source?.lines[2]?.length).toBeLessThan(230);
  expect(await failed("b")).toBe(null);
  expect(await failed("c")).toMatchObject({ line: 2, firstLine: 1 });
  expect(await failed("d")).toBe(null);
  expect(jobs.sourceOf("run_unknown")).toBe(null);
  expect(opened.scripts.functions.sourceOf("run_unknown")).toBe(null);
  expect(JSON.stringify(opened.log)).not.toContain("// five");
  await opened.stop();
});

test("the excerpt of the last error replaces the former excerpt, and the newest 1,000 runs have an excerpt", async () => {
  const { service, stop } = await openScripts({ files: {} });
  const { database } = service;
  const table = new SourceTable(database);
  const source = (line: number) => ({ filePath: "jobs/a.ts", line, firstLine: line, lines: ["x"] });
  const record = (runId: string, line: number | null) =>
    database.transact((tx) => table.record(tx, runId, line === null ? undefined : source(line)));
  await record("first", 1);
  await record("second", 1);
  await record("first", 2);
  expect(table.find("first")).toEqual(source(2));
  await database.transact((tx) => {
    for (let n = 0; n < 1_000; n++) table.record(tx, `run_${n}`, source(n));
  });
  expect([table.find("first"), table.find("second")]).toEqual([null, null]);
  expect(table.find("run_0")).toEqual(source(0));
  await record("run_0", null);
  expect(table.find("run_0")).toBe(null);
  await until(() => database.reader.all("SELECT id FROM _run_sources").length === 999);
  await stop();
});
