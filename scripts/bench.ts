/** `npm run bench`: builds the executable, and measures the executable against the floor. */
import { must, root } from "./run.ts";

await must([process.execPath, `${root}/scripts/build.ts`]);
await must([process.execPath, `${root}/bench/main.ts`]);
