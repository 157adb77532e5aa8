/**
 * The modules that a start of `socle serve` loads: the files that the command line reaches by static imports. Modules of Node that bring
 * streams, cryptography, compression or sockets cost 3 to 9 MiB each, so such a module is imported where it is first used.
 */
import { expect, test } from "bun:test";
import { dirname, join } from "node:path";

const source = join(import.meta.dir, "..");

/** The files of the server that an entry reaches, and the imports that lead out of these files. */
async function reachedFrom(entry: string): Promise<{ files: Set<string>; outside: Set<string> }> {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  const files = new Set([entry]);
  const outside = new Set<string>();
  for (const file of files) {
    if (!file.endsWith(".ts")) continue;
    for (const { path, kind } of transpiler.scanImports(await Bun.file(join(source, file)).text())) {
      if (kind !== "import-statement") continue;
      if (path.startsWith(".")) files.add(join(dirname(file), path));
      else outside.add(path);
    }
  }
  return { files, outside };
}

test("a start loads the named modules of the runtime and packages, and no other command", async () => {
  const { files, outside } = await reachedFrom("cli/index.ts");
  expect([...outside].sort()).toEqual([
    "@socle/protocol",
    "@socle/protocol/cells",
    "@socle/protocol/filter",
    "@socle/protocol/query-types.txt",
    "@socle/protocol/wire",
    "aws4fetch",
    "bun:sqlite",
    "modern-tar",
    "node:buffer",
    "node:fs",
    "node:fs/promises",
    "node:os",
    "node:path",
    "node:timers/promises",
    "node:url",
  ]);
  expect(files.has("app/app.ts")).toBe(true);
  // Only a leader with `cluster.mirror` loads the mirror.
  expect([...files].filter((file) => file.startsWith("operate/mirror/"))).toEqual([]);
  expect([...files].filter((file) => file.startsWith("cli/commands/"))).toEqual(["cli/commands/serve.ts"]);
  expect(
    [...files].filter((file) => file.startsWith("testing/") || file.startsWith("code/script-host/child/")),
  ).toEqual([]);
});

test("a script process loads the modules of its own work, and no module of the service", async () => {
  const { files } = await reachedFrom("code/script-host/child/main.ts");
  expect(files.has("code/script-host/child/loader.ts")).toBe(true);
  expect([...files].filter((file) => !/^(base\/kernel|code\/script-host)\//.test(file))).toEqual([]);
  const { files: ofQueries } = await reachedFrom("code/script-host/child/query.ts");
  expect(ofQueries.has("store/database/sqlite/user-query.ts")).toBe(true);
  expect([...ofQueries].filter((file) => !/^(base|code\/script-host\/child|store)\//.test(file))).toEqual([]);
});

test("the search follows static imports", async () => {
  const { files, outside } = await reachedFrom("cli/commands/all.ts");
  expect(files.has("testing/index.ts")).toBe(true);
  expect(files.has("cli/mcp/server.ts")).toBe(false);
  expect(outside.has("openid-client")).toBe(false);
});
