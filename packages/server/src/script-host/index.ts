/** The user's code in processes of its own: their protocol and limits, loading and reloading modules, what they may ask. */

export type { ScriptOutcome, ScriptTask } from "./attempt.ts";
export type { FileState } from "./file-states.ts";
export type { RunInput, ScriptError } from "./protocol.ts";
export { QueryPool } from "./query-pool.ts";
export { parseOptions, parseRetries, parseTimeout, retryPauseMs } from "./run-options.ts";
export { runTool, type ToolOptions } from "./run-tool.ts";
export { ScriptCalls } from "./script-calls.ts";
export { fingerprint, listScripts } from "./script-files.ts";
export { type Script, ScriptHost, type ScriptKind } from "./script-host.ts";
export { startChild, startQueries } from "./start-child.ts";
export { typeDeclarations } from "./type-declarations.ts";
