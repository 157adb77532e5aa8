/**
 * The check of functions, jobs and endpoints: loads the files as the service does, and names the files that do not
 * load.
 */
import type { Config } from "../base/config/index.ts";
import { AppError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { checkEndpoint } from "../code/endpoints/index.ts";
import { triggersOf } from "../code/functions/index.ts";
import { jobOf } from "../code/jobs/index.ts";
import { ScriptHost, type ScriptKind, type ScriptProblem } from "../code/script-host/index.ts";
import { scriptProcess } from "./script-process.ts";

interface ScriptCheck {
  readonly problems: readonly ScriptProblem[];
  /** The declared variables of the environment that are not set. */
  readonly missing: readonly string[];
}

/** Loads every file once. Its top level runs, as at a start of the service; no service answers its calls. */
export async function checkScripts(options: {
  config: Config;
  logger: Logger;
  environment: { readonly [name: string]: string | undefined };
}): Promise<ScriptCheck> {
  const { config, logger } = options;
  const timeoutMs = config["scripts.timeout"];
  const refusal = { code: "unavailable", message: "No service runs during a check." } as const;
  const host = new ScriptHost({ ...scriptProcess(config, options.environment), processes: 1, logger });
  const owners = {
    kinds: [
      kindOf("functions", (script) => triggersOf(script, timeoutMs)),
      kindOf("jobs", (script) => jobOf(script, timeoutMs)),
      kindOf("endpoints", (script, files) => checkEndpoint(script, files, timeoutMs)),
    ],
    calls: {
      answer: () => Promise.reject(new AppError(refusal.code, refusal.message)),
      toCallError: () => refusal,
    },
  };
  try {
    await host.load(owners);
    return { problems: host.problems(), missing: host.missingVariables() };
  } finally {
    host.stop();
  }
}

function kindOf(folder: ScriptKind["folder"], check: ScriptKind["check"]): ScriptKind {
  return { folder, check, firstLane: "runs", lanesOf: () => ["runs"], use: async () => undefined };
}
