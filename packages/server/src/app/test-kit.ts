/** The test kit: the module `socle/test` for Bun's test runner, and the type declarations. */
import { SetupError } from "../base/kernel/index.ts";
import { testKitFile } from "./test-kit-build.ts";

export interface TestKit {
  /** The module, as JavaScript. */
  readonly module: string;
  /** Declarations by path: the declarations of the client, and `bun-test.d.ts` for `bun:test`. */
  readonly types: { readonly [path: string]: string };
}

/** Null for a program that runs from source. */
export async function findTestKit(): Promise<TestKit | null> {
  // `scripts/embed-test-kit.ts` wrote the file.
  return testKitFile === null ? null : ((await Bun.file(testKitFile).json()) as TestKit);
}

/** @throws SetupError for a program that runs from source. */
export async function testKit(): Promise<TestKit> {
  const kit = await findTestKit();
  if (kit === null) throw new SetupError("The executable runs the tests: npm run build makes the executable");
  return kit;
}
