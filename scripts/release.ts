/**
 * `npm run release`: a release of this commit in `dist/release`. `--only NAME` makes the executable of one platform, and may be given several
 * times. `--key FILE`, or SOCLE_RELEASE_KEY, is the private key that signs; `--new-key FILE` makes a pair of keys.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../packages/server/src/base/kernel/index.ts";
import { releaseKey } from "../packages/server/src/cli/release-key.ts";
import { release } from "./release/index.ts";
import { keyModule, makeKey, publicKeyOf, readKey, writeKeyModule } from "./release/keys.ts";
import { root } from "./run.ts";

const folder = join(root, "dist/release");

async function run(): Promise<string> {
  const { values } = parseArgs({
    options: { only: { type: "string", multiple: true }, key: { type: "string" }, "new-key": { type: "string" } },
  });
  const newKey = values["new-key"];
  if (newKey !== undefined) {
    await writeKeyModule(join(root, keyModule), makeKey(newKey));
    return `The private key is in ${newKey}: keep the file in a safe place, and out of the repository.\nThe public key is in ${keyModule}: commit the file, and put the key into docs/install.md.`;
  }
  const file = values.key ?? process.env["SOCLE_RELEASE_KEY"];
  const key = file === undefined ? undefined : readKey(file);
  if (key !== undefined && publicKeyOf(key) !== releaseKey)
    throw new Error(`${file} is not the key of ${keyModule}: installed executables would refuse the release`);
  await release({ folder, ...(values.only && { only: values.only }), ...(key && { key }) });
  return key === undefined
    ? "dist/release is not signed: socle upgrade and install.sh refuse it. Name the private key with --key FILE or SOCLE_RELEASE_KEY; --new-key FILE makes a pair of keys."
    : "dist/release is signed.";
}

try {
  console.log(await run());
} catch (thrown) {
  console.error(`release: ${messageOf(thrown)}`);
  process.exit(1);
}
