/** Refusals of migrations. */
import type { ErrorDetail } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";

/** A migration that was refused, because of a definition. */
export class MigrationError extends AppError {
  readonly collection: string;

  constructor(collection: string, message: string, details?: ErrorDetail[]) {
    super("bad_request", message, details === undefined ? {} : { details });
    this.collection = collection;
  }
}

/** Adds the collection to a refusal of the definition; other errors pass unchanged. */
export function rethrow(collection: string, thrown: unknown): never {
  const isRefusal = thrown instanceof AppError && thrown.code === "bad_request";
  throw isRefusal ? new MigrationError(collection, thrown.message, thrown.details) : thrown;
}
