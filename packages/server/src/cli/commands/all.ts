/** The commands that do work, in the order of the help. */
import type { Command } from "../command.ts";
import { adminCreate } from "./admin-create.ts";
import { auditExport } from "./audit.ts";
import { backup, restore, vacuum, verify } from "./backup.ts";
import {
  clusterAdopt,
  clusterInit,
  clusterLead,
  clusterRejoin,
  clusterRemove,
  clusterSnapshot,
  clusterStatus,
  clusterUpgrade,
} from "./cluster.ts";
import { backupList } from "./continuous.ts";
import { failureChanges, failures } from "./failures.ts";
import { health } from "./health.ts";
import { init } from "./init.ts";
import { logLevel, logs } from "./log.ts";
import { mailTest } from "./mail.ts";
import { mcp } from "./mcp.ts";
import { moveIn } from "./move-in.ts";
import { openApi } from "./openapi.ts";
import { add, check, client, types } from "./project.ts";
import { readOnly, readOnlySwitches } from "./read-only.ts";
import { runFunction, runJob } from "./run.ts";
import { schemaDiffCommand, schemaPull, schemaPush, schemaRestore } from "./schema.ts";
import { dev, serve } from "./serve.ts";
import { status } from "./status.ts";
import { test } from "./test.ts";
import { trace } from "./trace.ts";
import { exportCommand, importCommand, seed } from "./transfer.ts";
import { upgrade } from "./upgrade.ts";

export const commands: readonly Command[] = [
  serve,
  dev,
  init,
  types,
  client,
  openApi,
  mcp,
  check,
  test,
  add,
  runJob,
  runFunction,
  adminCreate,
  health,
  status,
  ...readOnlySwitches,
  readOnly,
  logs,
  logLevel,
  mailTest,
  auditExport,
  ...failureChanges,
  failures,
  trace,
  schemaPull,
  schemaPush,
  schemaDiffCommand,
  schemaRestore,
  seed,
  importCommand,
  exportCommand,
  moveIn,
  backupList,
  backup,
  restore,
  verify,
  vacuum,
  upgrade,
  clusterInit,
  clusterStatus,
  clusterSnapshot,
  clusterRemove,
  clusterRejoin,
  clusterAdopt,
  clusterLead,
  clusterUpgrade,
];
