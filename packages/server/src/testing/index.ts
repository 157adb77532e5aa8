/** Tests of the user's code: the services for the tests of `socle test`. */
export { RunFolder } from "./run-folder.ts";
export { runTestService } from "./service-process.ts";
export { TestHost } from "./test-host.ts";
