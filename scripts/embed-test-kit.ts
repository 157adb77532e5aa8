/**
 * The test kit inside the executable: `packages/client/src/test-service.ts` as a single file of JavaScript, and the declarations
 * that a test needs in an editor: the declarations of the client and of `bun:test`.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Glob } from "bun";
import type { TestKit } from "../packages/server/src/app/test-kit.ts";
import { writeClientTypes } from "./build-client.ts";
import { root } from "./run.ts";

async function moduleText(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(root, "packages/client/src/test-service.ts")],
    target: "bun",
    format: "esm",
    sourcemap: "none",
  });
  const [file] = built.outputs;
  if (!built.success || file === undefined) throw new AggregateError(built.logs, "The test kit cannot be built");
  return file.text();
}

async function typeTexts(): Promise<TestKit["types"]> {
  const folder = await mkdtemp(join(tmpdir(), "socle-types-"));
  try {
    await writeClientTypes(folder);
    const texts: Record<string, string> = {};
    for (const file of new Glob("**/*.d.ts").scanSync(folder))
      texts[relative(folder, join(folder, file)).replaceAll("\\", "/")] = await readFile(join(folder, file), "utf8");
    texts["bun-test.d.ts"] = await readFile(join(root, "scripts/bun-test-types.txt"), "utf8");
    return texts;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Puts the kit into a copy of the source. @param app the folder of the module app in the copy. */
export async function embedTestKit(app: string): Promise<void> {
  const kit: TestKit = { module: await moduleText(), types: await typeTexts() };
  await Bun.write(join(app, "test-kit.bin"), JSON.stringify(kit));
  const source = `import file from "./test-kit.bin" with { type: "file" };\nexport const testKitFile = file;\n`;
  await Bun.write(join(app, "test-kit-build.ts"), source);
}
