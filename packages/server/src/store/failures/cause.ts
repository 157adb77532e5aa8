/**
 * The cause of a failure: the kind of work, the place of the error, and the message without values. Failures of one cause are a group,
 * whose id is a digest of the cause. All steps take a time that grows with the length of the message alone: strangers choose messages.
 */
import type { FailureKind } from "@socle/protocol";

/** The failure of a run, a call or a mail. */
export interface Failure {
  readonly kind: FailureKind;
  /** The file of the handler; null for a mail. */
  readonly path: string | null;
  /** For people: the message and, in brackets, the place in the user's files. */
  readonly error: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The id of the run, or of the mail. */
  readonly run: string;
  /** The id of the record, if the failure has one. */
  readonly record: string | null;
}

export interface FailureCause {
  readonly id: string;
  readonly kind: FailureKind;
  readonly file: string | null;
  readonly line: number | null;
  readonly message: string;
}

/** Characters of an error that count for the cause, of the place at its end, and of the message of a group. */
const maxError = 4_000;
const maxPlace = 500;
const maxMessage = 300;
/** In the place of a value. */
const gap = "…";

/** The place that the processes of user code write behind a message: `(functions/posts/notify.ts:4:9)`, or the file alone. */
const placePattern = / \(([^()]+?\.[cm]?[jt]sx?)(?::(\d+)(?::\d+)?)?\)$/;
const quoted = /"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|«[^»\n]*»|(?<!\w)'[^'\n]*'(?!\w)/g;
/** A list of values is a value, too. */
const gaps = new RegExp(`${gap}(?:[\\s,;]+${gap})+`, "g");

/** A message without quoted texts, addresses (of mail, of the web), ids and numbers. */
export function withoutValues(message: string): string {
  const text = message
    .replace(quoted, gap)
    .replace(/[^\s"'<>()[\]{},;]+/g, (word) => (/@|:\/\//.test(word) ? gap : word))
    .replace(/(?:::)?[\w-]+(?:(?:::|[.,:])[\w-]+)*/g, (word) => (/\d/.test(word) ? gap : word))
    .replace(gaps, gap)
    .replace(/\s+/g, " ")
    .trim();
  return text.slice(0, maxMessage);
}

export function causeOf({ kind, path, error }: Failure): FailureCause {
  const [place = "", file = path, line] = placePattern.exec(error.slice(-maxPlace)) ?? [];
  const message = withoutValues(error.slice(0, Math.min(maxError, error.length - place.length)));
  return identified({ kind, file, line: line === undefined ? null : Number(line), message });
}

/** The cause of failures whose place has too many messages. */
export function otherCause({ kind, file, line }: FailureCause): FailureCause {
  return identified({ kind, file, line, message: "Other messages of this place" });
}

function identified(cause: Omit<FailureCause, "id">): FailureCause {
  const { kind, file, line, message } = cause;
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify([kind, file, line, message])).digest("hex");
  return { id: `flr_${digest.slice(0, 24)}`, ...cause };
}
