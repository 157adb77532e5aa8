/**
 * `npm test`: builds the executable and runs every test; ends with the line "N passed, N failed".
 * `npm test unit` runs those that need no executable; `npm run test:long` runs the long ones, `npm run test:hostile`
 * the attacks of the hostile suite, `npm run test:power-cuts` the power cuts, `npm run test:disks` and `npm run test:clocks`
 * failing disks and wrong clocks, `npm run test:kills`, `test:upgrade` and `soak` the suites of those names.
 */
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { Glob } from "bun";
import { must, root, start } from "./run.ts";

const suites = {
  unit: ["packages/**/*.test.ts", "scripts/*.test.ts"],
  all: ["packages/**/*.test.ts", "scripts/*.test.ts", "e2e/*.test.ts"],
  long: ["e2e/long/*.test.ts"],
  hostile: ["e2e/hostile/*.test.ts"],
  "power-cuts": ["e2e/reliability/power-cuts/*.test.ts"],
  disks: ["e2e/reliability/disks.test.ts"],
  clocks: ["e2e/reliability/clocks.test.ts"],
  kills: ["e2e/reliability/kills.test.ts", "e2e/reliability/kills-points.test.ts"],
  soak: ["e2e/reliability/soak.test.ts"],
  upgrade: ["e2e/reliability/upgrade.test.ts"],
} as const;

const suite = Bun.argv[2] ?? "all";
if (!Object.hasOwn(suites, suite)) {
  console.error(`There is no suite "${suite}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}
const patterns = suites[suite as keyof typeof suites];
const files = patterns
  .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
  .filter((file) => !file.includes("node_modules"))
  .sort();

if (suite !== "unit") await must([process.execPath, `${root}/scripts/build.ts`]);
const report = `${tmpdir()}/socle-tests-${process.pid}.xml`;
const timeout = suite === "all" || suite === "unit" ? "60000" : "600000";
const code = await start([
  process.execPath,
  "test",
  `--timeout=${timeout}`,
  "--reporter=junit",
  `--reporter-outfile=${report}`,
  ...files.map((file) => `./${file}`),
]);

/** The counts of the whole run stand in the report's first element. */
const head = /<testsuites [^>]*>/.exec(readFileSync(report, "utf8"))?.[0] ?? "";
rmSync(report);
const counted = (name: string): number => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN);
const failed = counted("failures");
const skipped = counted("skipped");
const passed = counted("tests") - failed - skipped;
if (skipped > 0) console.error(`${skipped} tests were skipped; a test runs or it is not there`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(code === 0 && failed === 0 && skipped === 0 && passed > 0 ? 0 : 1);
