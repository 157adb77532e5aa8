/** Loading of files into a real process: a file with a top level that waits for ever, or computes, costs the others nothing. */
import { expect, test } from "bun:test";
import { isLong } from "../../../test/long.ts";
import { openScripts } from "../../../test/scripts.ts";

const job = 'export const schedule = "0 0 1 1 *";\nexport default () => undefined;\n';

test("files whose top-level await never ends share a single wait, in the same process", async () => {
  const waits = `${job}await new Promise(() => undefined);\n`;
  const { log, scripts } = await openScripts({
    files: {
      "jobs/a.ts": waits,
      "jobs/b.ts": waits,
      "jobs/c.ts": waits,
      "jobs/fine.ts": `${job}console.log("the top level of fine");\n`,
    },
  });
  const late = "did not finish loading within 5 s";
  expect(scripts.host.states().map(({ file, problem }) => [file.path, problem?.message])).toEqual([
    ["jobs/a.ts", late],
    ["jobs/b.ts", late],
    ["jobs/c.ts", late],
    ["jobs/fine.ts", undefined],
  ]);
  // A process for each file would have loaded the other file again.
  expect(log.filter((line) => line.includes("the top level of fine"))).toHaveLength(1);
  expect(await scripts.run({ kind: "job", name: "fine" }, () => undefined)).toBe(null);
});

// The computation takes a core for 5 s; e2e/script-files.test.ts has a file that waits without end among many.
if (isLong)
  test("a file that computes without end keeps no other file from being loaded", async () => {
    const { scripts } = await openScripts({
      files: { "jobs/a.ts": `${job}while (true) {}\n`, "jobs/b.ts": job, "jobs/c.ts": job },
    });
    expect(scripts.host.states().map(({ file, problem }) => [file.path, problem?.message])).toEqual([
      ["jobs/a.ts", "did not finish loading within 5 s"],
      ["jobs/b.ts", undefined],
      ["jobs/c.ts", undefined],
    ]);
    expect(await scripts.run({ kind: "job", name: "c" }, () => undefined)).toBe(null);
  });
