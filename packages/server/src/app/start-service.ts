/** Start of the service, as an app or as an instance of a cluster. The parts of a cluster are loaded when a cluster is configured or asked for. */
import { checkAlerts } from "../operate/admin/index.ts";
import { type AppOptions, type Running, startApp } from "./app.ts";

/** Starts the service: an instance of a cluster if a journal is configured. @throws SetupError with a readable line. */
export async function startService(options: AppOptions): Promise<Running> {
  checkAlerts(options.config);
  if (options.config["cluster.journal"] === undefined || options.isDevelopment === true) return startApp(options);
  const { startInstance } = await import("./cluster.ts");
  return startInstance(options);
}

/** The commands of a cluster. */
export async function clusterCommands() {
  const [commands, { branchText }] = await Promise.all([
    import("./cluster-commands.ts"),
    import("./instance-database.ts"),
  ]);
  const {
    adoptDatabase,
    initCluster,
    leadBy,
    makeSnapshot,
    rejoinCluster,
    removeInstance,
    statusOfCluster,
    upgradeOf,
  } = commands;
  return {
    adoptDatabase,
    branchText,
    initCluster,
    leadBy,
    makeSnapshot,
    rejoinCluster,
    removeInstance,
    statusOfCluster,
    upgradeOf,
  };
}
