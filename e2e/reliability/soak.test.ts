/**
 * `npm run soak`: half an hour of steady mixed load (`MINUTES=…` for another time), with samples of the service's resources.
 * The soak fails when memory, descriptors or threads rise after the warm-up, and when a request got a wrong answer.
 * `SOAK_WRITE=1` writes docs/images/soak.svg and the table into docs/reliability.md.
 */
// Promises: B3.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { project, root, serve, socle } from "../kit.ts";
import { write } from "../scripts-kit.ts";
import { Caller } from "./kills-caller.ts";
import { writeTable } from "./kills-table.ts";
import { collections, config, files, Load } from "./soak-load.ts";
import { charts, plot } from "./soak-plot.ts";
import { type Measure, median, type Sample, slope, take } from "./soak-samples.ts";

const minutes = Number(process.env["MINUTES"] ?? 30);
const warmUp = 5;
/** In less time a slope says nothing. */
const shortestJudged = 10;
const sampleEveryMs = 2_000;

/** The most by which each measure may rise, per minute. */
const allowed: Partial<Record<Measure, number>> = { service: 1, children: 0.5, descriptors: 0.2, threads: 0.05 };

function row({ measure, title, unit }: (typeof charts)[number], judged: readonly Sample[]): string {
  const values = judged.map((sample) => sample[measure]);
  const bound = allowed[measure];
  const rise = `${slope(judged, measure).toFixed(3)}${unit === "" ? "" : ` ${unit}`}`;
  const cells = [title, Math.min(...values), median(values), Math.max(...values)].map((cell) =>
    typeof cell === "number" ? cell.toFixed(0) : cell,
  );
  return `| ${[...cells, rise, bound === undefined ? "–" : String(bound)].join(" | ")} |`;
}

test(
  `${minutes} minutes of steady load`,
  async () => {
    const cwd = await project({ collections, config });
    await write(cwd, files);
    const server = await serve(cwd);
    const admin = await new Caller(() => server.url).as("admin@example.com");
    const load = new Load(admin, (name) => server.signal(name));
    const samples: Sample[] = [];
    await load.fillQueries();
    const start = performance.now();
    const running = load.run();
    while (performance.now() - start < minutes * 60_000) {
      samples.push(take(server.pid, cwd, start));
      await Bun.sleep(sampleEveryMs);
    }
    load.stop();
    await running;
    const exitCode = await server.stop();
    const verified = await socle(["verify"], { cwd });

    const judged = samples.filter(({ minute }) => minute >= Math.min(warmUp, minutes / 2));
    const work = [...load.counts].map(([name, count]) => `${count.toLocaleString("en")} ${name}`).sort();
    const table = [
      `${cpus().length} cores, shared with other work, ${minutes} minutes: ${work.join(", ")}.`,
      "",
      `| after minute ${warmUp} | least | median | most | slope per minute | allowed |`,
      "| --- | --- | --- | --- | --- | --- |",
      ...charts.map((chart) => row(chart, judged)),
    ].join("\n");
    console.log(table);
    const picture =
      process.env["SOAK_WRITE"] === "1" ? join(root, "docs/images/soak.svg") : join(root, "dist/soak.svg");
    mkdirSync(join(root, "dist"), { recursive: true });
    writeFileSync(picture, plot(samples, warmUp));
    writeFileSync(join(root, "dist/soak.json"), JSON.stringify(samples));
    if (process.env["SOAK_WRITE"] === "1") writeTable("soak", table);
    console.log(`The picture is ${picture}`);

    expect(load.failures).toEqual([]);
    expect(exitCode).toBe(0);
    expect(
      server
        .output()
        .split("\n")
        .filter((line) => line.includes(" ERROR ")),
    ).toEqual([]);
    expect(verified.stdout).toEndWith("All is well\n");
    if (minutes < shortestJudged) {
      console.log(`A run of less than ${shortestJudged} minutes is not judged by its slopes`);
      return;
    }
    const steep = charts
      .filter(({ measure }) => slope(judged, measure) > (allowed[measure] ?? Number.POSITIVE_INFINITY))
      .map(({ title }) => title);
    expect(steep).toEqual([]);
  },
  (minutes + 5) * 60_000,
);
