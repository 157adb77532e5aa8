/**
 * The build of the client that is inside the executable. The source tree has no build: `scripts/compile.ts` puts a module with the
 * same export in the place of this module.
 */
import type { EmbeddedBuild } from "./dashboard.ts";

export const clientBuild: EmbeddedBuild | null = null;
