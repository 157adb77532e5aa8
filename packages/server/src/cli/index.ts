/** The command line: commands, options, help. */
export { LogOutput } from "../base/logging/index.ts";
export type { Terminal } from "./command.ts";
export { run } from "./run.ts";
export { SecretInput } from "./secret-input.ts";
