/** Read-only mode of a service: for the command `socle read-only`, and by itself while a disk has too little room. */
import type { ReadOnlyMode } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { freeBytes } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { AdminChanges, ReadOnlyAdmin } from "../operate/admin/index.ts";
import type { Database } from "../store/database/index.ts";
import type { Service } from "./service.ts";

/** Between two looks at the disks. */
const everyMs = 2_000;
/** The mode ends with this part of `limits.diskFree` more than at its begin, so that a few bytes do not begin and end the mode again and again. */
const more = 1.1;

interface GuardOptions {
  readonly config: Pick<Config, "limits.diskFree">;
  readonly database: Pick<Database, "readOnly" | "unusedBytes">;
  readonly logger: Logger;
  /** Paths on the disks that the service writes to; the first is the database. */
  readonly paths: readonly string[];
}

/** Makes the service read-only while a disk has less room than `limits.diskFree`. Resolves after the first look. */
export async function guardDisks(options: GuardOptions, signal: AbortSignal): Promise<void> {
  const { logger } = options;
  const look = (): Promise<void> =>
    lookAtDisks(options).catch((error: unknown) =>
      logger.often("The room on the disks could not be looked at", { error }),
    );
  await look();
  const timer = setInterval(() => void look(), everyMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer));
}

async function lookAtDisks({ config, database, logger, paths }: GuardOptions): Promise<void> {
  const { readOnly } = database;
  const isOn = readOnly.lacksRoom;
  const least = config["limits.diskFree"] * (isOn ? more : 1);
  const rooms = await Promise.all(
    // Pages that deletions have left are room for the database.
    paths.map(async (path, i) => ({ path, room: (await freeBytes(path)) + (i === 0 ? database.unusedBytes : 0) })),
  );
  const lacking = rooms.find(({ room }) => room < least);
  if ((lacking !== undefined) === isOn) return;
  if (lacking === undefined) {
    readOnly.lackRoom(null);
    logger.info("The disks have room again: changes are accepted");
    return;
  }
  const text = `the disk of ${lacking.path} has less room than limits.diskFree`;
  readOnly.lackRoom({ since: Date.now(), text });
  logger.warn(`The service is read-only: ${text}`);
}

/** @param action `on`, `off`, or `status` for the present mode. */
export function answerReadOnly(admin: ReadOnlyAdmin, action: string): Promise<ReadOnlyMode> | ReadOnlyMode {
  return action === "status" ? admin.mode : admin.set({ on: action === "on" }, null);
}

/** Like `answerReadOnly`, for a service that does not serve. */
export async function readOnlyAlone(service: Service, logger: Logger, action: string): Promise<ReadOnlyMode> {
  // For the entry of the audit. The whole service is not opened: that would apply definition files.
  service.events.start();
  return answerReadOnly(new ReadOnlyAdmin({ ...service, changes: new AdminChanges({ ...service, logger }) }), action);
}
