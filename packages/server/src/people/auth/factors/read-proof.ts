/** Bodies with the attempt of a sign-in and a second factor. */
import { oneOf } from "../../../base/kernel/index.ts";
import { invalid, readCode, readText } from "../read-body.ts";

const factors = ["code", "recoveryCode", "passkey"] as const;

export interface FactorProof {
  readonly attempt: string;
  readonly factor: (typeof factors)[number];
  /** "" for a passkey, which is an object of the body. */
  readonly value: string;
}

/** @throws AppError `validation_error`, also for a body with several factors. */
export function readProof(body: Record<string, unknown>): FactorProof {
  const attempt = readText(body, "attempt");
  const [factor, ...others] = factors.filter((name) => body[name] !== undefined);
  if (factor === undefined || others.length > 0)
    throw invalid(
      "",
      `the body must have one factor: ${oneOf(factors)}`,
      factor === undefined ? "required" : "unknown",
    );
  if (factor === "passkey") return { attempt, factor, value: "" };
  return { attempt, factor, value: factor === "code" ? readCode(body) : readText(body, factor) };
}
