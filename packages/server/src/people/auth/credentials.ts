/** Credentials in the bodies of requests: emails, passwords and roles, parsed and validated. */
import { type Credentials, type ErrorDetail, ROLES, type Role } from "@socle/protocol";
import { AppError, isObject, oneOf, quote } from "../../base/kernel/index.ts";

/** Longer ones only cost time. */
const maxPassword = 1_000;
/** RFC 5321, 4.5.3.1: local part and whole address. */
const maxLocal = 64;
const maxEmail = 254;

/** The lower case of "İ": an i with a second, invisible dot. */
const dottedI = "i\u0307";

/** Characters that no font shows. */
const hidden = /\p{DI}/u;
const localPart = /^[^\s@"(),:;<>[\\\]\p{C}]+$/u;
const domain = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]*[\p{L}\p{N}]$/u;

/**
 * An email address in the stored form, or null for another text. Letters that differ in width, case or a style of Unicode
 * are one letter (NFKC), so that no second account looks like the first: "Ａnn@…" is "ann@…".
 */
export function normaliseEmail(text: string): string | null {
  const email = text.trim().normalize("NFKC").toLowerCase().replaceAll(dottedI, "i").normalize("NFKC");
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  if (at < 1 || email.length > maxEmail || local.length > maxLocal) return null;
  const dots = local.startsWith(".") || local.endsWith(".") || local.includes("..");
  return !dots && localPart.test(local) && domain.test(email.slice(at + 1)) && !hidden.test(email) ? email : null;
}

/**
 * A text for which `longest` is too long is cut off after that, and stays too long: a waiting request
 * takes little memory then.
 */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : Buffer.from(text.slice(0, longest)).toString();
}

function credential(body: Record<string, unknown>, field: string, problems: ErrorDetail[]): string | null {
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

/** @throws AppError `bad_request` for an unknown role. */
export function readRole(value: unknown): Role {
  const role = ROLES.find((each) => each === value);
  if (role !== undefined) return role;
  const given = value === undefined ? "; it is missing" : `, not ${quote(value)}`;
  throw new AppError("bad_request", `"role" must be ${oneOf(ROLES)}${given}.`);
}

/**
 * Email and password of a request; other keys, also a `role`, are ignored.
 * @throws AppError `validation_error`.
 */
export function readCredentials(body: unknown): Credentials {
  if (!isObject(body)) throw new AppError("bad_request", `The body must be a JSON object, not ${quote(body)}.`);
  const problems: ErrorDetail[] = [];
  const email = credential(body, "email", problems);
  const password = credential(body, "password", problems);
  if (email === null || password === null) throw AppError.validation(problems);
  // A character takes two code units at most.
  return { email: cut(email.trim(), maxEmail + 1), password: cut(password, 2 * maxPassword + 1) };
}

function passwordProblems(password: string, minLength: number): ErrorDetail[] {
  const length = [...password].length;
  const field = "password";
  if (length < minLength)
    return [{ field, rule: "min", message: `password must be at least ${minLength} characters long` }];
  if (length > maxPassword)
    return [{ field, rule: "max", message: `password must be at most ${maxPassword} characters long` }];
  return [];
}

/** @throws AppError `validation_error` for a password that is too short or too long. */
export function checkNewPassword(password: string, minLength: number): void {
  const problems = passwordProblems(password, minLength);
  if (problems.length > 0) throw AppError.validation(problems);
}

/**
 * Credentials of somebody new.
 * @throws AppError `validation_error` for a bad email or password.
 */
export function checkNewCredentials(credentials: Credentials, passwordMinLength: number): Credentials {
  const problems: ErrorDetail[] = [];
  const email = normaliseEmail(credentials.email);
  if (email === null) problems.push({ field: "email", rule: "type", message: "email must be an email address" });
  problems.push(...passwordProblems(credentials.password, passwordMinLength));
  if (email === null || problems.length > 0) throw AppError.validation(problems);
  return { email, password: credentials.password };
}

/**
 * The password of a request.
 * @throws AppError `validation_error` for a missing password, and for another type.
 */
export function readPassword(body: Record<string, unknown>): string {
  const problems: ErrorDetail[] = [];
  const password = credential(body, "password", problems);
  if (password === null) throw AppError.validation(problems);
  return password;
}
