/** Tests of the user's code: the services that `socle test` runs them against. */
export { RunFolder } from "./run-folder.ts";
export { runTestService } from "./service-process.ts";
export { TestHost } from "./test-host.ts";
