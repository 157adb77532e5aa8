/** Paths of requests: the path as sent, its decoded parts, and the error of a path that names nothing. */
import { AppError } from "../../base/kernel/index.ts";

/** The path of a URL as sent. `URL` would refuse an odd Host header, which is irrelevant for a path. */
export function pathIn(url: string): string {
  return /^(?:[a-z]+:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1] ?? "/";
}

export function nothingHere(): AppError {
  return new AppError("not_found", "There is nothing at this path.");
}

/** A decoded part of a path; null for a part that is not valid percent-encoding, and names nothing. */
export function decodePart(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
