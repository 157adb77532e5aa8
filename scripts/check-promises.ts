/**
 * Checks the numbered promises. A promise is a bold id in ARCHITECTURE.md or docs/reliability.md (`**W1**`); a test that holds
 * promises cites the ids in a line `// Promises: W1, E2.`. The check fails for a promise without a test, for a test that cites
 * an unknown promise, for an id of two promises, and for a promise that no test of the suite cites which docs/reliability.md names
 * beside the promise.
 *
 * The check cannot see whether a test holds the promise that the test cites.
 */
import { join } from "node:path";
import { Glob } from "bun";

const pages = ["ARCHITECTURE.md", "docs/reliability.md"];
const tests = "{packages,e2e,examples}/**/*.test.ts";
const promise = /\*\*([A-Z]\d+)\*\*/g;
const citation = /^\/\/ Promises: (.*)\.$/gm;

/** The files of the suites that docs/reliability.md names. */
const suites: { readonly [name: string]: string } = {
  "power cuts": "e2e/reliability/power-cuts/",
  kills: "e2e/reliability/kills",
  continuous: "e2e/long/continuous-kills",
  disks: "e2e/reliability/disks",
  cluster: "e2e/reliability/cluster",
  clocks: "e2e/reliability/clocks",
  upgrade: "e2e/reliability/upgrade",
  soak: "e2e/reliability/soak",
  hostile: "e2e/hostile/",
  long: "e2e/long/",
  "`npm test`": "",
};

/** The promises with the suites of a page, from the rows `| **W3** | promise | disks |`. */
export function suitesOf(page: string): [id: string, suite: string][] {
  const rows = [...page.matchAll(/^\| \*\*([A-Z]\d+)\*\* \|.*\| ([^|]+) \|$/gm)];
  return rows.flatMap(([, id = "", names = ""]) => names.split(", ").map((name): [string, string] => [id, name]));
}

/** The ids of the promises of a page. */
export function promisesOf(page: string): string[] {
  return [...page.matchAll(promise)].map(([, id = ""]) => id);
}

/** The ids that a test cites. */
export function citationsOf(source: string): string[] {
  return [...source.matchAll(citation)].flatMap(([, ids = ""]) => ids.split(", "));
}

/** The ids that each test file cites. */
interface Cited {
  readonly [file: string]: readonly string[];
}

/** The promises that no test of the named suite cites, and names of no suite, as lines. */
export function missingInSuites(named: readonly (readonly [id: string, suite: string])[], cited: Cited): string[] {
  const files = Object.entries(cited);
  return named.flatMap(([id, suite]) => {
    const start = suites[suite];
    if (start === undefined) return [`the promise ${id} names an unknown suite: ${suite}`];
    const isCited = files.some(([file, ids]) => file.startsWith(start) && ids.includes(id));
    return isCited ? [] : [`no test of the suite ${suite} cites the promise ${id}`];
  });
}

/** Every problem, as a line. */
export function problemsOf(promises: readonly string[], cited: Cited): string[] {
  const known = new Set(promises);
  const held = new Set(Object.values(cited).flat());
  return [
    ...promises.filter((id, i) => promises.indexOf(id) < i).map((id) => `${id} is the id of two promises`),
    ...[...known].filter((id) => !held.has(id)).map((id) => `no test cites the promise ${id}`),
    ...Object.entries(cited).flatMap(([file, ids]) =>
      ids.filter((id) => !known.has(id)).map((id) => `${file} cites an unknown promise: ${id}`),
    ),
  ];
}

async function findProblems(root: string): Promise<string[]> {
  const texts = await Promise.all(pages.map((page) => Bun.file(join(root, page)).text()));
  const cited: { [file: string]: string[] } = {};
  for (const file of new Glob(tests).scanSync(root))
    if (!/(^|\/)(node_modules|dist|\.socle)\//.test(file))
      cited[file] = citationsOf(await Bun.file(join(root, file)).text());
  return [...problemsOf(texts.flatMap(promisesOf), cited), ...missingInSuites(texts.flatMap(suitesOf), cited)];
}

if (import.meta.main) {
  const problems = await findProblems(join(import.meta.dir, ".."));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
