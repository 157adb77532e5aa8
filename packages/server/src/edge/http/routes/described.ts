/** The descriptions of all routes, for the OpenAPI document. Loaded when a document is asked for. */
import type { DescribedRoutes } from "../../openapi/index.ts";
import { backupsDescribed } from "./admin/backups-described.ts";
import { collectionsDescribed } from "./admin/collections-described.ts";
import { adminKeysDescribed } from "./admin/keys-described.ts";
import { logsDescribed } from "./admin/logs-described.ts";
import { mailsDescribed } from "./admin/mails-described.ts";
import { scriptsDescribed } from "./admin/scripts-described.ts";
import { filesDescribed } from "./admin/storage-described.ts";
import { usersDescribed } from "./admin/users-described.ts";
import { accountDescribed } from "./auth-account-described.ts";
import { authDescribed } from "./auth-described.ts";
import { factorsDescribed } from "./auth-factors-described.ts";
import { keysDescribed } from "./auth-keys-described.ts";
import { proofsDescribed } from "./auth-proofs-described.ts";
import { providersDescribed } from "./auth-providers-described.ts";
import { batchDescribed } from "./batch-described.ts";
import { healthDescribed } from "./health-described.ts";
import { openApiDescribed } from "./openapi-described.ts";
import { queriesDescribed } from "./queries-described.ts";
import { realtimeDescribed } from "./realtime-described.ts";
import { recordsDescribed } from "./records-described.ts";
import { storageDescribed } from "./storage-described.ts";
import { transferDescribed } from "./transfer-described.ts";

export const describedRoutes: readonly DescribedRoutes[] = [
  recordsDescribed,
  transferDescribed,
  batchDescribed,
  authDescribed,
  accountDescribed,
  proofsDescribed,
  factorsDescribed,
  providersDescribed,
  keysDescribed,
  storageDescribed,
  queriesDescribed,
  realtimeDescribed,
  collectionsDescribed,
  usersDescribed,
  adminKeysDescribed,
  filesDescribed,
  backupsDescribed,
  mailsDescribed,
  scriptsDescribed,
  logsDescribed,
  healthDescribed,
  openApiDescribed,
];
