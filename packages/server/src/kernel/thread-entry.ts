/** Thread entries: where a worker thread finds its module, in the executable and in the source tree. */
import { dirname, join } from "node:path";

/**
 * The address of a module that runs as a worker thread.
 *
 * In the executable, `import.meta.url` is a path of the machine that built it, and a relative path that is not embedded
 * would be read from the current folder. So the address is made from that of the embedded program: every entry of
 * `scripts/compile.ts` lies beside it, as in the source tree.
 * @param path of the module, relative to `packages/server/src`, without its ending: "database/sqlite/thread-worker".
 */
export function threadEntry(path: string): string {
  if (!Bun.isStandaloneExecutable) return join(import.meta.dir, "..", `${path}.ts`);
  return join(dirname(Bun.main), `${path}.js`);
}
