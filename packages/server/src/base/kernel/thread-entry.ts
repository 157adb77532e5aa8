/** Thread entries: the path of a worker thread's module, in the executable and in the source tree. */
import { dirname, join } from "node:path";

/**
 * The address of a module that runs as a worker thread. In the executable, `import.meta.url` is a path of the build machine,
 * and a relative path that is not embedded would be read from the current folder. So the address starts from the embedded
 * program: `scripts/compile.ts` places every entry beside the program, as in the source tree.
 * @param path of the module, relative to `packages/server/src`, without its ending: "store/database/sqlite/thread-worker".
 */
export function threadEntry(path: string): string {
  if (!Bun.isStandaloneExecutable) return join(import.meta.dir, "../..", `${path}.ts`);
  return join(dirname(Bun.main), `${path}.js`);
}
