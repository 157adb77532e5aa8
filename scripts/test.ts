/**
 * `npm test`: builds the executable and runs every test; ends with the line "N passed, N failed".
 * `npm test unit` runs the tests that need no executable; `npm run test:long` runs the long tests, `npm run test:hostile`
 * the attacks of the hostile suite, `npm run test:power-cuts` the power cuts, `npm run test:disks` and `npm run test:clocks`
 * failing disks and wrong clocks, `npm run test:kills`, `test:cluster`, `test:upgrade`, `test:contract` and `soak` the suites of these names.
 *
 * Several processes share the files of `npm test` and of `npm test unit`: each takes the longest file that nobody has taken, by
 * `scripts/test-durations.json`. With `--durations`, the run writes its durations to this file. With `--again`, the files with failed
 * tests run a second time, alone: the second run decides, and the failures of the first run are printed.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { must, root } from "./run.ts";

const unit = ["packages/**/*.test.ts", "scripts/*.test.ts"];

/** Tests of `npm test` with a long form, which the suite `long` runs (`isLong` in `e2e/kit.ts`). */
const longForms =
  "e2e/{auth-pages,cities,dashboard-{factors,keys,mails,rules,users},hooks,loops,overload,script-innocents,sign-in-pages}.test.ts";

/** The files of each suite. */
const suites = {
  unit,
  all: ["e2e/*.test.ts", ...unit],
  long: ["e2e/long/*.test.ts", longForms],
  hostile: ["e2e/hostile/*.test.ts"],
  "power-cuts": ["e2e/reliability/power-cuts/*.test.ts"],
  disks: ["e2e/reliability/disks.test.ts"],
  clocks: ["e2e/reliability/clocks.test.ts", "e2e/reliability/cluster-clocks.test.ts"],
  kills: ["e2e/reliability/kills.test.ts", "e2e/reliability/kills-points.test.ts"],
  cluster: ["e2e/reliability/cluster.test.ts"],
  soak: ["e2e/reliability/soak.test.ts"],
  upgrade: ["e2e/reliability/upgrade.test.ts"],
  contract: ["e2e/contract/*.test.ts"],
} as const;

const [durations, again] = ["--durations", "--again"];
const suite = Bun.argv.slice(2).find((argument) => ![durations, again].includes(argument)) ?? "all";
if (!Object.hasOwn(suites, suite)) {
  console.error(`There is no suite "${suite}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}
const isShort = suite === "all" || suite === "unit";
const files = suites[suite as keyof typeof suites]
  .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
  .filter((file) => !file.includes("node_modules"));

if (suite !== "unit") await must([process.execPath, `${root}/scripts/build.ts`]);

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The files with failed tests. */
  readonly broken: readonly string[];
}

/** Runs test files, several at a time if `isParallel`, and prints each failure. */
async function run(files: readonly string[], isParallel: boolean): Promise<Outcome> {
  // The temporary files of all tests; tests that were cut off leave files behind.
  const temporary = mkdtempSync(join(tmpdir(), "socle-run-"));
  // For the PostgreSQL of tests, which runs as another user where the tests run as root.
  chmodSync(temporary, 0o755);
  const report = join(temporary, "report.xml");
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      // Tests wait for conditions, and a busy machine is slow: the limit only ends a test that hangs.
      `--timeout=${isShort ? 300_000 : 600_000}`,
      // The files of a process share the modules, whose loading takes longer than many a test.
      ...(isParallel ? [`--parallel=${navigator.hardwareConcurrency + 1}`, "--no-isolate"] : []),
      ...(isParallel ? ["--timings=scripts/test-durations.json"] : []),
      ...(isParallel && Bun.argv.includes(durations) ? ["--update-timings"] : []),
      "--only-failures",
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, TMPDIR: temporary, ...(suite === "long" && { SOCLE_LONG: "1" }) },
    },
  );
  const code = await child.exited;
  const written = existsSync(report) ? readFileSync(report, "utf8") : null;
  rmSync(temporary, { recursive: true, force: true });

  // The counts of the whole run stand in the first element of the report.
  const first = /<testsuites [^>]*>/.exec(written ?? "")?.[0] ?? "";
  const counted = (name: string): number => Number(new RegExp(` ${name}="(\\d+)"`).exec(first)?.[1] ?? 0);
  // A runner that crashes leaves no report, and a file that throws before its first test is not in the report.
  const unreported = files.filter((file) => written?.includes(` file="${file}"`) !== true);
  const failures = [
    ...(written ?? "").matchAll(/<testcase name="([^"]*)"[^>]*? file="([^"]*)"[^>]*[^/]>\s*<failure/g),
  ].map(([, name = "", file = ""]) => ({ name, file }));
  for (const { name, file } of failures) console.error(`failed: ${file}: ${name}`);
  for (const file of unreported)
    console.error(`failed: ${file}: an error before the first test, or the runner crashed`);
  const [tests, broken, skipped] = [counted("tests"), counted("failures"), counted("skipped")];
  return {
    passed: tests - broken - skipped,
    // An error outside of a test fails the run, too.
    failed: Math.max(broken + unreported.length, code === 0 ? 0 : 1),
    skipped,
    broken: [...new Set([...failures.map(({ file }) => file), ...unreported])],
  };
}

let { passed, failed, skipped, broken } = await run(files, isShort);
if (failed > 0 && broken.length > 0 && broken.length < 20 && Bun.argv.includes(again)) {
  console.log(`${passed} passed, ${failed} failed; the files with failures run again, alone`);
  const second = await run(broken, false);
  // The tests of these files that passed before pass again.
  passed += failed - second.failed;
  ({ failed } = second);
  skipped += second.skipped;
}
if (skipped > 0) console.error(`${skipped} tests were skipped; a test runs or it is not there`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && skipped === 0 && passed > 0 ? 0 : 1);
