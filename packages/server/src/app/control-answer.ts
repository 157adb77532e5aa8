/** Answers to the commands that reach a running service through its control socket. */

import type { Config } from "../base/config/index.ts";
import type { Backups } from "../operate/backup/index.ts";
import type { ControlAnswer } from "./control.ts";
import { definitionsOf } from "./definitions.ts";
import type { Scripts } from "./scripts.ts";
import { seedFrom } from "./seed.ts";
import type { Service } from "./service.ts";
import { exportFile, importFile } from "./transfer-file.ts";

/**
 * The answers of a service. The value of an outcome: of `admin`, "made" or "promoted"; of `definitions`, the
 * definitions of the next start; of `seed`, a `SeedReport`; of `import`, an `ImportReport`; of `export`, the number of
 * records.
 */
export function controlAnswer(parts: {
  config: Config;
  service: Service;
  scripts: Scripts;
  backups: Backups;
}): ControlAnswer {
  const { config, service, scripts, backups } = parts;
  return async (request, { onLog, onProgress }) => {
    switch (request.kind) {
      case "backup":
        await backups.toFile(request.file, request.passphrase, {
          onProgress: (done, total) => onProgress({ done, total }),
          onMissing: (message) => onLog({ level: "WARN", message }),
        });
        return { error: null };
      case "admin":
        return { error: null, value: await service.auth.makeAdmin(request) };
      case "seed":
        return { error: null, value: await seedFrom(request.file, service) };
      case "import":
        return { error: null, value: await importFile(service, request, onProgress) };
      case "export":
        return { error: null, value: await exportFile(service, request, onProgress) };
      case "definitions":
        return { error: null, value: await definitionsOf(service, config) };
      default:
        return { error: await scripts.run(request, onLog) };
    }
  };
}
