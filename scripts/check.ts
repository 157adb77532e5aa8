/**
 * `npm run check`: format and lint, types, module order, places of SQL, comments, words, promises, dependencies, unused code. Runs
 * every check, so that a single run reports all problems.
 */
import { root, start, tool } from "./run.ts";

const checks: { readonly [name: string]: string[] } = {
  "format and lint": [tool("biome"), "check", "--error-on-warnings", "."],
  types: [tool("tsc"), "-p", "."],
  "types of the dashboard": [tool("tsc"), "-p", "packages/dashboard"],
  "types of the bindings": [tool("tsc"), "-p", "tsconfig.bindings.json"],
  "module order": [process.execPath, `${root}/scripts/check-modules.ts`],
  "places of SQL": [process.execPath, `${root}/scripts/check-sql.ts`],
  comments: [process.execPath, `${root}/scripts/check-comments.ts`],
  words: [process.execPath, `${root}/scripts/check-words.ts`],
  promises: [process.execPath, `${root}/scripts/check-promises.ts`],
  dependencies: [process.execPath, `${root}/scripts/check-dependencies.ts`],
  "unused code": [tool("knip"), "--no-progress"],
  "unused members": [process.execPath, `${root}/scripts/check-members.ts`],
};

let failed = 0;
for (const [name, command] of Object.entries(checks)) {
  console.log(`── ${name}`);
  if ((await start(command)) !== 0) failed += 1;
}
console.log(failed === 0 ? "All checks passed" : `${failed} of ${Object.keys(checks).length} checks failed`);
process.exit(failed === 0 ? 0 : 1);
