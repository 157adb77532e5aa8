/**
 * The build of the dashboard that is inside the executable. In the source tree there is none: `scripts/compile.ts` puts a
 * module with the same export in this one's place.
 */
import type { EmbeddedBuild } from "./embedded-files.ts";

export const dashboardBuild: EmbeddedBuild | null = null;
