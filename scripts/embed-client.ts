/** The client inside the executable: the files that the service serves under `/_/`, and that `socle client` copies. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeClientTypes, writeServedClient } from "./build-client.ts";
import { type EmbedOptions, pack } from "./embed-dashboard.ts";

/** Puts the build of the client into a copy of the source. */
export async function embedClient({ http, builtAt }: EmbedOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "socle-client-"));
  try {
    await writeClientTypes(join(folder, "types"));
    await writeServedClient(join(folder, "served"), join(folder, "types"));
    const { files, bytes } = await pack(join(folder, "served"));
    await Bun.write(join(http, "client.bin"), bytes);
    const source = `import bytes from "./client.bin" with { type: "file" };
export const clientBuild = { bytes, builtAt: ${builtAt}, files: ${JSON.stringify(files)} };
`;
    await Bun.write(join(http, "client-build.ts"), source);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
