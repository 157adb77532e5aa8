/** Texts of request bodies about accounts; emails and passwords are checked for new users. */
import type { Credentials, ErrorDetail, ErrorRule } from "@socle/protocol";
import { AppError, isObject, quote } from "../../base/kernel/index.ts";
import { maxEmail, normaliseEmail } from "../mail/index.ts";

/** A longer password only costs time. */
const maxPassword = 1_000;

type Body = Readonly<Record<string, unknown>>;

/** The error for a field of a body; by default, the field has another form. */
export function invalid(field: string, message: string, rule: ErrorRule = "regex"): AppError {
  return AppError.validation([{ field, rule, message }]);
}

/** A text of a body, or null with a problem for a missing text and for another type. */
function takeText(body: Body, field: string, problems: ErrorDetail[]): string | null {
  const value = Object.hasOwn(body, field) ? body[field] : undefined;
  if (value === undefined || value === null || value === "") {
    problems.push({ field, rule: "required", message: `${field} is required` });
    return null;
  }
  if (typeof value !== "string" || !value.isWellFormed() || value.includes("\0")) {
    problems.push({ field, rule: "type", message: `${field} must be a string` });
    return null;
  }
  return value;
}

/** @throws AppError `validation_error` for a missing text, and for another type. */
export function readText(body: Body, field: string): string {
  const problems: ErrorDetail[] = [];
  const text = takeText(body, field, problems);
  if (text === null) throw AppError.validation(problems);
  return text;
}

/** A text, or null for a missing or empty text. @throws AppError `validation_error` for another type. */
export function readOptionalText(body: Body, field: string): string | null {
  return body[field] === undefined || body[field] === null || body[field] === "" ? null : readText(body, field);
}

/** An email address in the stored form. @throws AppError `validation_error` for another text. */
export function readEmail(body: Body): string {
  const email = normaliseEmail(readText(body, "email").slice(0, 2 * maxEmail));
  if (email === null) throw invalid("email", "email must be an email address", "type");
  return email;
}

/** The six digits of a code; spaces are for the eye. @throws AppError `validation_error` for another form, which is no try. */
export function readCode(body: Body): string {
  const code = readText(body, "code").replaceAll(" ", "");
  if (!/^[0-9]{6}$/.test(code)) throw invalid("code", "code must be six digits");
  return code;
}

/** Cuts off the rest of a text that is too long in any case, so that a waiting request takes little memory. */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : Buffer.from(text.slice(0, longest)).toString();
}

/**
 * Email and password of a request; other keys, also a `role`, are ignored.
 * @throws AppError `validation_error`.
 */
export function readCredentials(body: unknown): Credentials {
  if (!isObject(body)) throw new AppError("bad_request", `The body must be a JSON object, not ${quote(body)}.`);
  const problems: ErrorDetail[] = [];
  const email = takeText(body, "email", problems);
  const password = takeText(body, "password", problems);
  if (email === null || password === null) throw AppError.validation(problems);
  return { email: cut(email.trim(), maxEmail + 1), password: cutPassword(password) };
}

/** A character takes two code units at most. */
function cutPassword(password: string): string {
  return cut(password, 2 * maxPassword + 1);
}

/** @throws AppError `validation_error` for a missing password, and for another type. */
export function readPassword(body: Body): string {
  return cutPassword(readText(body, "password"));
}

/** A password, or null for a missing or empty field. @throws AppError `validation_error` for another type. */
export function readOptionalPassword(body: Body, field = "password"): string | null {
  const password = readOptionalText(body, field);
  return password === null ? null : cutPassword(password);
}

export function passwordProblems(password: string, minLength: number): ErrorDetail[] {
  const length = [...password.normalize("NFC")].length;
  const field = "password";
  if (length < minLength)
    return [{ field, rule: "min", message: `password must be at least ${minLength} characters long` }];
  if (length > maxPassword)
    return [{ field, rule: "max", message: `password must be at most ${maxPassword} characters long` }];
  return [];
}

/** @throws AppError `validation_error` for a bad email or password. */
export function checkNewCredentials(credentials: Credentials, passwordMinLength: number): Credentials {
  const problems: ErrorDetail[] = [];
  const email = normaliseEmail(credentials.email);
  if (email === null) problems.push({ field: "email", rule: "type", message: "email must be an email address" });
  problems.push(...passwordProblems(credentials.password, passwordMinLength));
  if (email === null || problems.length > 0) throw AppError.validation(problems);
  return { email, password: credentials.password };
}
