/** `Refusal`, a global of the user's code: thrown in a handler that a request waits for, a refusal is the answer to the client. */
import type { RefusalData } from "../protocol.ts";
import { cut } from "./errors.ts";

const statuses = [400, 403] as const;
/** Characters of a message, and of the name of a field. */
const maxMessage = 2_000;
const maxField = 100;

class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: RefusalData["status"];
  readonly field: string | null;

  constructor(message: unknown, options: { field?: unknown; status?: unknown } = {}) {
    if (typeof message !== "string" || message === "") throw new TypeError("A Refusal needs a message");
    super(message);
    const { field = null, status = 400 } = options ?? {};
    const known = statuses.find((each) => each === status);
    if (known === undefined) throw new TypeError(`The status of a Refusal is 400 or 403, not ${String(status)}`);
    if (field !== null && typeof field !== "string") throw new TypeError("The field of a Refusal is a name");
    this.status = known;
    this.field = field;
  }
}

/** To be called before the user's code is loaded. */
export function defineRefusal(): void {
  Object.defineProperty(globalThis, "Refusal", { value: Refusal, configurable: true, writable: true });
}

/** The thrown refusal; null for any other value. Never throws. */
export function refusalOf(thrown: unknown): RefusalData | null {
  try {
    if (!(thrown instanceof Refusal)) return null;
    const { message, status, field } = thrown;
    return { message: cut(String(message), maxMessage), status, field: field === null ? null : cut(field, maxField) };
  } catch {
    return null;
  }
}
