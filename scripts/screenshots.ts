/**
 * `npm run screenshots`: a picture of each page of the dashboard in both themes, in docs/images, and the recording of the first minute
 * for the site, in site/first-minute. Needs the built executable.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { root, start } from "./run.ts";

await mkdir(join(root, "docs/images"), { recursive: true });
// The pictures are a test file: the file uses the browser and the service of the tests, which end with the test.
process.exit(await start([process.execPath, "test", "--timeout=240000", "./e2e/pictures/"]));
