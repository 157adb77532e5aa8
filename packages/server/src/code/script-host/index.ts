/** The processes of the user's code: load and reload modules, run handlers within limits, and answer the calls of handlers. */

export type {
  BodyPieces,
  CallOutcome,
  ScriptExchange,
  ScriptOutcome,
  ScriptResponse,
  ScriptTask,
} from "./attempt.ts";
export { readEnvironmentFile } from "./environment.ts";
export type { FileState } from "./file-states.ts";
export { SpawnedProcess } from "./host-process.ts";
export type { Lane } from "./lanes.ts";
export { runTool, toolOutput } from "./own-command.ts";
export { dispatch, type Handlers, type RunInput, type ScriptError, type ScriptExports } from "./protocol.ts";
export { QueryPool } from "./query-pool.ts";
export { exportAdvice, parseOptions, parseRetries, parseTimeout } from "./run-options.ts";
export { findScripts, fingerprint, listTests } from "./script-files.ts";
export {
  type BrokenScript,
  type Script,
  ScriptHost,
  type ScriptHostOptions,
  type ScriptKind,
  type ScriptOwners,
  type ScriptProblem,
} from "./script-host.ts";
export { ServiceApi } from "./service-api.ts";
export { startChild, startQueries } from "./start-child.ts";
export { testDeclarations, typeDeclarations } from "./type-declarations.ts";
