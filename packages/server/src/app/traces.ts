/** The trace of a part by the id of the part, for the command `socle trace`, on a database without a service. */
import type { Trace } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { type Logger, LogRing } from "../base/logging/index.ts";
import { Traces } from "../operate/traces/index.ts";
import { withoutCode } from "./scripts.ts";
import type { Service } from "./service.ts";

/** The command line as the caller of a read that may have to wait for a thread. */
export const commandLine = { caller: "the command line", signal: new AbortController().signal };

/** Like `Traces.find`, for a service that does not serve, and has no lines of the log. @throws AppError `not_found`. */
export function traceAlone(parts: { service: Service; config: Config; logger: Logger }, id: string): Promise<Trace> {
  return withoutCode(parts, ({ functions, jobs }) =>
    new Traces({ ...parts.service, functions, jobs, log: new LogRing() }).find(id, commandLine),
  );
}
