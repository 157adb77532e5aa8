/** The process of the user's code, by the configuration. */
import { realpathSync } from "node:fs";
import type { Config } from "../base/config/index.ts";
import type { ScriptHostOptions } from "../code/script-host/index.ts";
import { usualUmask } from "./file-modes.ts";

/** The options by which a project's code is found and run. A folder that is a link is followed anew each time. */
export function scriptProcess(
  config: Config,
  environment: { readonly [name: string]: string | undefined },
): Pick<ScriptHostOptions, "root" | "env" | "process" | "memoryLimit"> {
  const env = config["scripts.env"];
  let real = realpathSync(config.folder);
  return {
    root: () => {
      try {
        real = realpathSync(config.folder);
      } catch {
        // The link is being replaced: its last target counts.
      }
      return real;
    },
    env,
    process: (root) => ({
      cwd: root,
      environment,
      word: "script-host",
      options: {
        root,
        env,
        bodyLimit: config["limits.body"],
        batchBodyLimit: config["limits.batchBody"],
        umask: usualUmask(),
      },
    }),
    memoryLimit: config["scripts.memory"],
  };
}
