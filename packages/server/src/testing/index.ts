/** Tests of the user's code: starts a separate service for each test file of `socle test`. */
export { RunFolder } from "./run-folder.ts";
export { runTestService } from "./service-process.ts";
export { TestHost } from "./test-host.ts";
