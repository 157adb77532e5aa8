/**
 * The composition root: builds every module, gives each module the other modules that the module needs, starts and
 * stops the service, and answers the control socket.
 */

export { MigrationStopped } from "../code/migrations/index.ts";
export { buildApi } from "./api.ts";
export { type App, build, platform, type Running, startApp, version } from "./app.ts";
export { readAudit } from "./audit.ts";
export { clientFolder, writeClient, writeTypesModule } from "./client-module.ts";
export {
  askService,
  doServiceWork,
  type ExportRequest,
  type ImportRequest,
  type LogLine,
  type RunRequest,
} from "./control.ts";
export { droppedIn, effectsOfFiles, planAgainst, readDefinitions, restoreIn } from "./definitions.ts";
export { type FailureAnswer, failuresAlone } from "./failures.ts";
export { keepFilesPrivate, launcherProgram, shellCommand } from "./file-modes.ts";
export { openParts } from "./parts.ts";
export { readOnlyAlone } from "./read-only.ts";
export { runReader } from "./reader.ts";
export { roomFaults } from "./room-definitions.ts";
export { checkScripts, readEndpoints, Scripts, withScripts } from "./scripts.ts";
export { seedFrom } from "./seed.ts";
export { buildService, dataPathsOf, knownSchemas, openService, type Service } from "./service.ts";
export { ServiceManager } from "./service-manager.ts";
export { clusterCommands, startService } from "./start-service.ts";
export { type TestKit, testKit } from "./test-kit.ts";
export { traceAlone } from "./traces.ts";
export { exportFile, formatOfFile, importFile } from "./transfer-file.ts";
export { checkFile, typesFile, writeCheckSettings, writeTypes } from "./types-file.ts";
export { projectState, untilChanged } from "./watch-files.ts";
