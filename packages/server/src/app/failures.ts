/** The failures of a service for the command `socle failures`: beside the service, or on the database alone. */
import type { FailureGroup } from "@socle/protocol";
import type { Config } from "../base/config/index.ts";
import { AppError, count, quote } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { AdminChanges, FailureAdmin } from "../operate/admin/index.ts";
import { withoutCode } from "./scripts.ts";
import type { Service } from "./service.ts";

/** `list`, or a change of the group with the id. */
interface FailureRequest {
  readonly action: string;
  readonly id: string | null;
}

/** The groups, and what a change has done, in words. */
export interface FailureAnswer {
  readonly items: readonly FailureGroup[];
  readonly done: string | null;
}

const statuses = { mute: "muted", resolve: "resolved", reopen: "open" } as const;

/** The most groups of a service fit on a page. */
const most = 1_000;

/** @throws AppError as `FailureAdmin`. */
export async function answerFailures(admin: FailureAdmin, { action, id }: FailureRequest): Promise<FailureAnswer> {
  if (id === null) {
    const { items } = await admin.list({ status: null, kind: null, cursor: null, limit: most });
    return { items, done: null };
  }
  if (action === "retry") {
    const { retry } = await admin.retry(id, null);
    return { items: [await admin.get(id)], done: `${count(retry.total, "run")} of ${id} will run again` };
  }
  const status = statuses[action as keyof typeof statuses];
  if (status === undefined) throw new AppError("bad_request", `Failures have no change ${quote(action)}.`);
  return { items: [await admin.setStatus(id, status, null)], done: `${id} is ${status}` };
}

/** Like `answerFailures`, for a service that does not serve. Runs of a retry wait for the start of the service. */
export function failuresAlone(
  { service, config, logger }: { service: Service; config: Config; logger: Logger },
  request: FailureRequest,
): Promise<FailureAnswer> {
  return withoutCode({ service, config, logger }, async ({ functions, jobs }) => {
    const changes = new AdminChanges({ ...service, logger });
    const admin = new FailureAdmin({ ...service, changes, functions, jobs, logger });
    await admin.groupOld();
    if (request.action === "retry" && request.id !== null && (await admin.get(request.id)).kind === "job")
      throw new AppError(
        "bad_request",
        "No service runs here. Start the service first, or run the job with socle run job NAME.",
      );
    const answer = await answerFailures(admin, request);
    return request.action === "retry" ? { ...answer, done: `${answer.done}, once the service serves` } : answer;
  });
}
