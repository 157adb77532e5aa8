/**
 * `npm test`: builds the executable and runs the tests; ends with the line "N passed, N failed".
 * `npm test unit` runs the tests that need no executable; `npm run test:browser` runs the tests of pages in a
 * browser, `npm run test:long` the long tests, `npm run test:hostile`
 * the attacks of the hostile suite, `npm run test:power-cuts` the power cuts, `npm run test:disks` and `npm run test:clocks`
 * failing disks and wrong clocks, `npm run test:kills`, `test:cluster`, `test:upgrade`, `test:contract`, `test:continuous`, `soak` and `drills` the suites of these names.
 * Groups of files run side by side, each in a process of its own. A failed test fails the run: no test has a second try.
 */
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { Glob } from "bun";
import { threads } from "./compile.ts";
import { built } from "./isolated.ts";
import { must, root } from "./run.ts";

const unit = ["packages/**/*.test.ts", "scripts/*.test.ts"];

/**
 * The groups of `npm test`, in the order of their starts: the longest first, so that no long group is left at the end. The
 * tests of clusters wait most of the time. The groups compute equally long: a process of tests has a single core.
 */
const groupsOfAll = [
  ["e2e/cluster-[a-f]*.test.ts"],
  ["e2e/cluster{,-[g-z]*}.test.ts"],
  ["e2e/{s[!hi]*,shop}.test.ts"],
  ["e2e/{p[ou]*,pre*,proc*,[qr]*}.test.ts"],
  ["packages/server/src/{app,base,cli,code,files,testing}/**/*.test.ts"],
  [
    "packages/server/src/{people,store}/**/*.test.ts",
    "packages/server/test/**/*.test.ts",
    "packages/{client,dashboard,protocol,react,svelte,tanstack-db,vue}/**/*.test.ts",
    "scripts/*.test.ts",
  ],
  ["e2e/{a[!u]*,audit,b[!i]*,bindings,c[!hl]*,cl[!u]*}.test.ts"],
  ["packages/server/src/{live,operate}/**/*.test.ts"],
  ["e2e/{t[!r]*,trace,tracer,transfer,[u-z]*}.test.ts"],
  ["e2e/{d[!a]*,data-*,dashboard,[e-h]*}.test.ts"],
  ["e2e/[m-o]*.test.ts"],
  ["packages/server/src/data/**/*.test.ts"],
  ["packages/server/src/edge/http/routes/**/*.test.ts"],
  ["packages/server/src/edge/{cluster,http,openapi,processes}/*.test.ts"],
  ["e2e/[i-l]*.test.ts"],
];
/** Groups that run at a time: most tests wait rather than compute, so that two cores have work for seven groups. */
const sideBySide = 7;

/** Pages in a browser: the dashboard, the pages of accounts, pages of servers with the bindings, and the examples. The first steps with the dashboard are in `npm test`. */
const browserGroups = [
  ["e2e/dashboard-[m-z]*.test.ts"],
  [
    "e2e/dashboard-[a-l]*.test.ts",
    "e2e/{auth-pages,bindings-pages,chat,passkeys,providers,sign-in-pages,tracker,tracker-walls}.test.ts",
    "e2e/shared-{rooms,sessions,worker}.test.ts",
  ],
];

/** Tests of `npm test` with a long form, which the suite `long` runs (`isLong` in `packages/server/test/long.ts`). */
const longForms = [
  "e2e/{auth-pages,cities,cluster-chain,cluster-lead,hooks,kills,loops,npx,overload,resume,rooms,script-innocents}.test.ts",
  "e2e/{session-model,sign-in-pages,views}.test.ts",
  "e2e/dashboard-{api,cluster,factors,keys,mails,pages,rules,runs,users}.test.ts",
  "e2e/{backups,batches,cascades,endpoints,mail,migration,processes,queues,script-faults,test-command}.test.ts",
  "packages/server/src/code/functions/hook-reads.test.ts",
  "packages/server/src/code/script-host/{acting.property,loading,serializable.property,silent-process,transactions}.test.ts",
  "packages/server/src/code/server-queries/live-random.test.ts",
  "packages/server/src/data/collections/definition-merge.random.test.ts",
  "packages/server/src/data/expressions/{agreement,parse}.test.ts",
  "packages/server/src/data/records/{operators-together,reversals,unnamed-rules}.test.ts",
  "packages/server/src/edge/http/rights-in-flight.test.ts",
  "packages/server/src/edge/http/routes/{paging.property,search}.test.ts",
  "packages/server/src/edge/http/routes/admin/try-definition.random.test.ts",
  "packages/server/src/live/realtime/{delivery,filters-random}.test.ts",
  "packages/server/src/operate/admin/schema-admin.property.test.ts",
  "packages/server/src/operate/backup/backup.test.ts",
  "packages/server/src/operate/mirror/rebuilds.test.ts",
  "packages/server/src/operate/move-in/supabase/inserts.test.ts",
  "packages/server/src/operate/undo/undo-model.test.ts",
  "packages/server/src/store/journal/postgres-journal.test.ts",
];

/** The groups of files of each suite. */
const suites = {
  unit: [unit],
  all: groupsOfAll,
  browser: browserGroups,
  long: [["e2e/long/!(continuous-kills).test.ts", ...longForms]],
  continuous: [["e2e/long/continuous-kills.test.ts"]],
  hostile: [["e2e/hostile/*.test.ts"]],
  "power-cuts": [["e2e/reliability/power-cuts/*.test.ts"]],
  disks: [["e2e/reliability/disks.test.ts"]],
  clocks: [["e2e/reliability/clocks.test.ts", "e2e/reliability/cluster-clocks.test.ts"]],
  kills: [["e2e/reliability/kills.test.ts", "e2e/reliability/kills-points.test.ts"]],
  cluster: [["e2e/reliability/cluster.test.ts"]],
  soak: [["e2e/reliability/soak.test.ts"]],
  upgrade: [["e2e/reliability/upgrade.test.ts"]],
  contract: [["e2e/contract/*.test.ts"]],
  drills: [["e2e/drills/*.test.ts"]],
} as const;

const suite = Bun.argv[2] ?? "all";
if (!Object.hasOwn(suites, suite)) {
  console.error(`There is no suite "${suite}"; there are: ${Object.keys(suites).join(", ")}`);
  process.exit(2);
}
const groups: readonly (readonly string[])[] = suites[suite as keyof typeof suites];
/** Milliseconds for a test. Tests wait for conditions, and a busy machine is slow: the limit only ends a test that hangs. */
const timeout = ["all", "unit", "browser"].includes(suite) ? "300000" : "600000";

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
  /** The seconds of processor time of the group: of the test process, and of the processes that the test process has waited for. */
  readonly computed: number;
  /** The seconds from the start of the run to the end of the group. */
  readonly endedAt: number;
  /** The seconds of each file. */
  readonly times: readonly { readonly file: string; readonly seconds: number }[];
}

interface Failure {
  readonly file: string;
  readonly name: string;
}

function filesOf(patterns: readonly string[]): string[] {
  return patterns
    .flatMap((pattern) => [...new Glob(pattern).scanSync(root)])
    .filter((file) => !file.includes("node_modules"))
    .sort();
}

/** Fails when a file is in no group of `npm test` and of the suite `browser`, or in several groups. */
function checkGroups(): void {
  const grouped = [...suites.all, ...suites.browser].flatMap(filesOf).sort();
  const files = filesOf(["e2e/*.test.ts", ...unit]);
  const wrong = [
    ...files.filter((file) => !grouped.includes(file)),
    ...grouped.filter((file, i) => grouped[i + 1] === file),
  ];
  const long = suites.long.flatMap(filesOf);
  const unlisted = files.filter(
    (file) => !long.includes(file) && /\bisLong\b|\blongTest\b/.test(readFileSync(`${root}/${file}`, "utf8")),
  );
  if (unlisted.length > 0) throw new Error(`The long forms of ${unlisted.join(", ")} are in no suite: see longForms`);
  if (wrong.length > 0) throw new Error(`The groups of scripts/test.ts must hold each file once: ${wrong.join(", ")}`);
}

/** Builds the modules that run as threads for `packages/server/test/built-entries.ts`; answers the folder. */
async function buildThreads(): Promise<string> {
  const source = `${root}/packages/server/src`;
  const outdir = mkdtempSync(`${tmpdir()}/socle-threads-`);
  const entrypoints = (await threads()).map((path) => `${source}/${path}.ts`);
  await Bun.build({ entrypoints, outdir, root: source, target: "bun", minify: { syntax: true, whitespace: true } });
  return outdir;
}

/** Runs a group of files. Only the first group writes to the terminal while running; the others follow at the end. */
async function run(files: readonly string[], index: number): Promise<Counts> {
  const report = `${tmpdir()}/socle-tests-${process.pid}-${index}.xml`;
  const output = `${tmpdir()}/socle-tests-${process.pid}-${index}.log`;
  // A single descriptor for both streams, so that neither stream overwrites the other.
  const terminal = index === 0 ? "inherit" : openSync(output, "a");
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      ...(entries === null ? [] : [`--preload=${root}/packages/server/test/built-entries.ts`]),
      `--timeout=${timeout}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    {
      cwd: root,
      stdio: ["ignore", terminal, terminal],
      env: {
        ...process.env,
        ...(suite === "long" && { SOCLE_LONG: "1" }),
        ...(entries !== null && { SOCLE_BUILT_ENTRIES: entries, SOCLE_BUILT_EXECUTABLE: built }),
      },
    },
  );
  const code = await child.exited;
  const computed = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000_000;
  const endedAt = (performance.now() - startedAt) / 1_000;
  if (index > 0) {
    console.log(readFileSync(output, "utf8"));
    rmSync(output);
  }
  // A runner that crashes leaves no report: every file of the group counts as failed.
  if (!existsSync(report)) {
    const failures = files.map((file) => ({ file, name: "the test runner crashed" }));
    return { passed: 0, failed: failures.length, skipped: 0, failures, computed, endedAt, times: [] };
  }
  const written = readFileSync(report, "utf8");
  rmSync(report);
  const crashed = files
    .filter((file) => !written.includes(` file="${file}"`))
    .map((file) => ({ file, name: "an error outside of the tests, before the first test" }));
  /** The counts of the whole run stand in the report's first element. */
  const head = /<testsuites [^>]*>/.exec(written)?.[0] ?? "";
  const counted = (name: string): number => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN);
  const [broken, skipped] = [counted("failures"), counted("skipped")];
  // An error outside of a test fails the run, too.
  const failed = Math.max(broken + crashed.length, code === 0 ? 0 : 1);
  const failures = [...failuresOf(written), ...crashed];
  const passed = counted("tests") - broken - skipped;
  return { passed, failed, skipped, failures, computed, endedAt, times: timesOf(written) };
}

/** The tests that a JUnit report names as failed. */
function failuresOf(report: string): Failure[] {
  return [...report.matchAll(/<testcase name="([^"]*)"[^>]*? file="([^"]*)"[^>]*[^/]>\s*<failure/g)].map(
    ([, name = "", file = ""]) => ({ file, name }),
  );
}

/** The seconds that each file of a JUnit report took. */
function timesOf(report: string): Counts["times"] {
  return [...report.matchAll(/<testsuite name="([^"]*)" file="\1"[^>]*? time="([\d.]+)"/g)].map(
    ([, file = "", seconds = ""]) => ({ file, seconds: Number(seconds) }),
  );
}

/** Runs the groups, some side by side: a group starts when another group has ended. */
async function runAll(): Promise<Counts[]> {
  const waiting = [...groups.entries()];
  const counts: Counts[] = [];
  const runNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, patterns] = next;
      counts.push(await run(filesOf(patterns), index));
    }
  };
  await Promise.all(Array.from({ length: sideBySide }, runNext));
  return counts;
}

checkGroups();
/** Builds what the tests start, and answers the folder of the built threads. */
async function buildAll(): Promise<string> {
  const scripts = ["build", "build-client"].map((script) => must([process.execPath, `${root}/scripts/${script}.ts`]));
  const [folder] = await Promise.all([buildThreads(), ...scripts]);
  return folder;
}

/** The folder of the built threads. The suite `unit` starts threads and processes from the source. */
const entries = suite === "unit" ? null : await buildAll();
const startedAt = performance.now();
const counts = await runAll();
if (entries !== null) rmSync(entries, { recursive: true });
const sum = (of: (each: Counts) => number): number => counts.reduce((total, each) => total + of(each), 0);
const [passed, failed, skipped] = [sum((each) => each.passed), sum((each) => each.failed), sum((each) => each.skipped)];
const slowest = counts.flatMap(({ times }) => times).sort((a, b) => b.seconds - a.seconds);
const took = Math.round((performance.now() - startedAt) / 1_000);
console.log(`The tests took ${took} s, and ${Math.round(sum((each) => each.computed))} s of processor time.`);
console.log("The groups, in the order of their ends: processor time, end, the slowest file:");
for (const { computed, endedAt, times } of counts) {
  const file = times.toSorted((a, b) => b.seconds - a.seconds)[0]?.file ?? "";
  console.log(`${computed.toFixed(0).padStart(7)} s${endedAt.toFixed(0).padStart(6)} s  ${file}`);
}
console.log("The slowest files:");
for (const { file, seconds } of slowest.slice(0, 10)) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
for (const { file, name } of counts.flatMap(({ failures }) => failures)) console.error(`failed: ${file}: ${name}`);
if (skipped > 0) console.error(`${skipped} tests were skipped; a test runs or it is not there`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && skipped === 0 && passed > 0 ? 0 : 1);
