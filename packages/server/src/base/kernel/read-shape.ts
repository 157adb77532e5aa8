/** Reads values of bodies by the shapes of the wire; the problems become the error for the caller. */
import type { ErrorDetail } from "@socle/protocol";
import type { Problems, Shape } from "@socle/protocol/wire";
import { AppError } from "./app-error.ts";
import { choiceError } from "./json.ts";
import { quote } from "./text.ts";

class BodyProblems implements Problems {
  readonly details: ErrorDetail[] = [];
  /** The first problem that is told alone. */
  refusal: AppError | null = null;

  add(detail: ErrorDetail): undefined {
    this.details.push(detail);
  }

  refuseChoice(field: string, value: unknown, allowed: readonly string[]): undefined {
    this.refusal ??= choiceError(field, value, allowed);
  }

  refuseMember(name: string, allowed: readonly string[]): undefined {
    this.refusal ??= new AppError("bad_request", `${quote(name)} cannot be set here; allowed: ${allowed.join(", ")}.`);
  }
}

/** @throws AppError `validation_error` with all problems; `bad_request` for another choice, and for a member that the body does not take. */
export function readShape<T>(shape: Shape<T>, value: unknown): T {
  const problems = new BodyProblems();
  const read = shape.read(value, "", problems);
  if (problems.refusal !== null) throw problems.refusal;
  if (problems.details.length > 0 || read === undefined) throw AppError.validation(problems.details);
  return read;
}
