/**
 * `npm run test:upgrade`: executables of five earlier commits, spread over the history, and today's, on one folder in turn.
 * Upwards, each version finds all data of the others. Downwards, the earlier version refuses to start and changes nothing, or works;
 * then today's finds everything. `UPGRADE_WRITE=1` writes the table into docs/reliability.md.
 */
// Promises: R4.
import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { executable as current, project, type Running, serve, socle, temporaryFolder } from "../kit.ts";
import { write } from "../scripts-kit.ts";
import { writeTable } from "./kills-table.ts";
import { type Build, build, history } from "./upgrade-builds.ts";
import {
  add,
  collections,
  contentOf,
  copyOf,
  files,
  leaveRun,
  missing,
  nothing,
  type Written,
} from "./upgrade-project.ts";

/** Places in the history; commits before the first place had no functions. */
const places = [0.2, 0.36, 0.52, 0.68, 0.84];
const scripts = { timeout: "1h" };

async function builds(): Promise<Build[]> {
  const commits = await history();
  // The same commits for a while, so that several runs share the builds.
  const length = Math.floor(commits.length / 50) * 50;
  const found: Build[] = [];
  for (const place of places) {
    const commit = commits[Math.floor(place * length)] ?? "";
    found.push(await build(commit));
    console.log(`Built ${commit.slice(0, 7)} (${found.at(-1)?.title})`);
  }
  return found;
}

/** The version ends at once, with a run of a function under way: the next version makes the run. */
async function endSuddenly(server: Running, cwd: string, written: Written): Promise<void> {
  await leaveRun(server, cwd, written);
  server.signal("SIGKILL");
  await server.exited;
}

/** The service, or the output when the service refuses to start. */
async function tryToServe(cwd: string, executable: string): Promise<Running | string> {
  try {
    return await serve(cwd, { executable });
  } catch (thrown) {
    return String(thrown);
  }
}

test(
  "upwards through five earlier versions to this version, and down to each and back",
  async () => {
    const earlier = await builds();
    const cwd = await project({ collections, config: { scripts } });
    await write(cwd, files);
    const written = nothing();
    const rows: string[] = [];
    const here: Build = { commit: "this version", title: "", executable: current };
    for (const { commit, title, executable } of [...earlier, here]) {
      const server = await serve(cwd, { executable });
      if (written.n > 0) expect(await missing(server, cwd, written)).toEqual([]);
      await add(server, written);
      expect(await missing(server, cwd, written)).toEqual([]);
      await endSuddenly(server, cwd, written);
      if (commit !== here.commit) rows.push(title);
    }

    const table = [
      "| version | then this version | from this version back to it | then this version again |",
      "| --- | --- | --- | --- |",
    ];
    for (const [at, { executable }] of earlier.entries()) {
      const copy = temporaryFolder();
      // The socket of a service that was killed cannot be copied.
      cpSync(cwd, copy, { recursive: true, filter: (path) => !path.endsWith(".socket") });
      const known = copyOf(written);
      const settled = await serve(copy);
      expect(await missing(settled, copy, known)).toEqual([]);
      expect(await settled.stop()).toBe(0);
      const before = contentOf(copy);
      const old = await tryToServe(copy, executable);
      const isRefused = typeof old === "string";
      if (isRefused) {
        // One line that gives the reason; the data are unchanged.
        expect(old).toMatch(/too old/);
        expect(contentOf(copy)).toBe(before);
      } else {
        expect(await missing(old, copy, known)).toEqual([]);
        await add(old, known);
        await endSuddenly(old, copy, known);
      }
      const again = await serve(copy);
      expect(await missing(again, copy, known)).toEqual([]);
      await add(again, known);
      expect(await missing(again, copy, known)).toEqual([]);
      expect(await again.stop()).toBe(0);
      expect((await socle(["verify"], { cwd: copy })).stdout).toEndWith("All is well\n");
      table.push(
        `| ${rows[at]} | all found | ${isRefused ? "refused, nothing changed" : "works, all found"} | all found |`,
      );
    }
    console.log(table.join("\n"));
    if (process.env["UPGRADE_WRITE"] === "1") writeTable("upgrade", table.join("\n"));
  },
  30 * 60_000,
);
