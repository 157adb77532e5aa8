/** The error for tokens and codes that do not work: one text for all purposes and reasons, so that the text tells nothing. */
import { AppError } from "../../base/kernel/index.ts";

/** The error for a token or a code that is unknown, used, expired or of another purpose. */
export function invalidProof(): AppError {
  return new AppError("bad_request", "The token or code is unknown, used or expired. Begin again.");
}
