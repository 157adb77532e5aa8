/** The audit of a database for the command `socle audit export`, beside a service or without one. */
import { SetupError } from "../base/kernel/index.ts";
import { auditPages } from "../operate/admin/index.ts";
import { asSlowReader, DatabaseFile, versionsOf } from "../store/database/index.ts";
import { auditAfter, eventSchema } from "../store/events/index.ts";

/** See `auditPages`. The file is only read. @throws SetupError for the database of another version. */
export async function* readAudit(
  path: string,
  asked: Parameters<typeof auditPages>[1],
): AsyncGenerator<string, void, void> {
  const file = new DatabaseFile(path);
  try {
    if (versionsOf(file).get(eventSchema.module) !== eventSchema.steps.length)
      throw new SetupError(`database ${path}: is of another version; start the service of this version once`);
    yield* auditPages((range) => auditAfter(asSlowReader(file), range), asked);
  } finally {
    file.close();
  }
}
