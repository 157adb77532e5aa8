/** The processes of the user's code: load and reload modules, run handlers within limits, and answer the calls of handlers; the pool of `db.query`. */
export {
  type BodyPieces,
  type CallOutcome,
  failureOf,
  type ScriptExchange,
  type ScriptOutcome,
  type ScriptResponse,
  type ScriptTask,
} from "./attempt.ts";
export type { CallAnswers, Caller } from "./call-transport.ts";
export { inspectAddresses, maxInspectPort, refuseTakenPorts, usualInspectPort } from "./debug.ts";
export { readEnvironmentFile } from "./environment.ts";
export { useFetchMocks } from "./fetch-mocks.ts";
export { type HandlerKind, mayName } from "./handler-kinds.ts";
export {
  runTool,
  SpawnedProcess,
  type SpawnOptions,
  toolOutput,
  withRuntimeNames,
} from "./host-process.ts";
export type { BrokenScript, Lane, Script, ScriptKind, ScriptOwners } from "./load.ts";
export type { PreviewProcesses } from "./preview-processes.ts";
export type {
  CallMessage,
  CodeFile,
  FoundHandler,
  HandlerSchemas,
  Read,
  RunInput,
  ScriptError,
  ScriptExports,
} from "./protocol.ts";
export { QueryPool } from "./query-pool.ts";
export { Reads } from "./reads.ts";
export { exportAdvice, parseOptions, parseRetries, parseTimeout } from "./run-options.ts";
export {
  type FileState,
  findScripts,
  fingerprint,
  fingerprintOfFile,
  listTests,
  middlewaresOf,
  readCode,
  type ScriptFolder,
} from "./script-files.ts";
export { ScriptHost, type ScriptHostOptions } from "./script-host.ts";
export { ServiceApi } from "./service-api.ts";
export {
  collectionMembers,
  emailDeclaration,
  fileDeclarations,
  testDeclarations,
  typeDeclarations,
} from "./type-declarations.ts";
