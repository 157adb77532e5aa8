/** Watch of the definition files, in development mode: applies those that change. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { applyDefinitionFiles } from "../collections/index.ts";
import { messageOf } from "../kernel/index.ts";
import type { Logger } from "../logging/index.ts";
import type { Service } from "./service.ts";

/** How often development mode looks for changed files. */
const lookMs = 50;

/** Fingerprint of the state of the definition files: their names, times and sizes. */
export function definitionsFingerprint(folder: string): string {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
    return names
      .map((name) => {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        return `${name}:${stats?.mtimeMs}:${stats?.size}`;
      })
      .join("\n");
  } catch {
    // There is no such folder yet.
    return "";
  }
}

/** Applies definition files that have changed; one that is refused is logged, and changes nothing. */
export function watchDefinitions(options: {
  service: Service;
  folder: string;
  /** The state of the files that was applied last. */
  applied: string;
  logger: Logger;
}): void {
  const { service, folder, logger } = options;
  const { collections, database } = service;
  let { applied } = options;
  let seen = applied;
  const look = async (): Promise<void> => {
    const now = definitionsFingerprint(folder);
    // Twice the same: the save is complete.
    const isStill = now === seen;
    seen = now;
    if (isStill && now !== applied) {
      applied = now;
      await applyDefinitionFiles({ folder, collections, database, logger: logger.for("collections") }).catch((error) =>
        logger.error(`Collections stay as they are: ${messageOf(error)}`),
      );
    }
    setTimeout(look, lookMs).unref();
  };
  setTimeout(look, lookMs).unref();
}
