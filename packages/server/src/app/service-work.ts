/** Service work: the work of a command, done by the running service, or by the command on the data of a stopped service. */
import type { Config } from "../base/config/index.ts";
import { AppError, messageOf, reasonsOf, SetupError } from "../base/kernel/index.ts";
import type { Logger } from "../base/logging/index.ts";
import { askService } from "./control.ts";
import type { ControlRequest, RequestListener } from "./run-request.ts";
import type { Service, ServiceOptions } from "./service.ts";

export interface ServiceWork<T> {
  readonly config: Config;
  readonly logger: Logger;
  /** The request to a running service, which answers with the result of `alone`. */
  readonly request: ControlRequest;
  readonly listener?: RequestListener;
  /** Opens the data of a stopped service. */
  readonly open: (options: ServiceOptions) => Promise<Service>;
  readonly alone: (service: Service) => Promise<T>;
}

/** @throws SetupError with the reasons of the service or of `alone`, Error when the disk refuses a write. */
export async function doServiceWork<T>({ config, logger, request, listener, open, alone }: ServiceWork<T>): Promise<T> {
  const asked = await askService(config.database, request, listener ?? {});
  if (asked !== null) {
    if (asked.error !== null) throw new SetupError(asked.error);
    // The service is this program.
    return asked.value as T;
  }
  let refusal: unknown;
  const onFatal = (error: unknown): void => {
    refusal = error;
  };
  await using service = await open({ config, logger, onFatal });
  try {
    return await alone(service);
  } catch (thrown) {
    if (refusal !== undefined) throw new Error(`The disk refused a write: ${messageOf(refusal)}`);
    throw thrown instanceof AppError ? new SetupError(reasonsOf(thrown)) : thrown;
  }
}
