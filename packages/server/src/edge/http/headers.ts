/** Conditional requests (RFC 9110, 13). Times are compared in whole seconds, which is all that headers can say. */

import type { Principal } from "../../base/kernel/index.ts";

/** Validators of an answer: its tag and its time. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

function tagsOf(header: string): string[] {
  return header.split(",").map((tag) => tag.trim());
}

function secondsOf(time: number): number {
  return Math.floor(time / 1_000);
}

export const jsonType = "application/json";

/** Headers of an answer that its caller may cache and must revalidate before each use. */
export function cacheHeaders(tag: string | null, principal: Principal, type?: string): Record<string, string> {
  const headers: Record<string, string> = { "Cache-Control": principal === null ? "no-cache" : "private, no-cache" };
  if (tag !== null) headers["ETag"] = tag;
  if (type !== undefined) headers["Content-Type"] = type;
  return headers;
}

/**
 * The three forms of an HTTP-date (RFC 9110, 5.6.7): today's, RFC 850's, and that of C's asctime, which names no zone.
 */
const dateForms = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** Whether `If-None-Match` names a tag: the client has this answer already. */
export function hasTag(headers: Headers, etag: string): boolean {
  const header = headers.get("if-none-match");
  if (header === null) return false;
  const tags = tagsOf(header).map((tag) => tag.replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}

/** The time of a header in seconds, or null for a header without a time, which does not count. */
function dateOf(header: string | null): number | null {
  if (header === null || !dateForms.some((form) => form.test(header))) return null;
  const time = Date.parse(header.endsWith("GMT") ? header : `${header} GMT`);
  return Number.isNaN(time) ? null : secondsOf(time);
}

/**
 * The status for the conditions of a GET or HEAD: 200 to answer as usual, 304 when the client has the current content,
 * 412 for a version that is gone.
 */
export function checkConditions(headers: Headers, { etag, modifiedAt }: Validators): 200 | 304 | 412 {
  const modified = secondsOf(modifiedAt);
  const ifMatch = headers.get("if-match");
  const unmodifiedSince = dateOf(headers.get("if-unmodified-since"));
  if (ifMatch !== null) {
    const tags = tagsOf(ifMatch);
    if (!tags.includes("*") && !tags.includes(etag)) return 412;
  } else if (unmodifiedSince !== null && modified > unmodifiedSince) {
    return 412;
  }
  if (headers.get("if-none-match") !== null) return hasTag(headers, etag) ? 304 : 200;
  const modifiedSince = dateOf(headers.get("if-modified-since"));
  return modifiedSince !== null && modified <= modifiedSince ? 304 : 200;
}

/** Whether a range may be answered: the content is still the content of which the client has a part. */
export function allowsRange(headers: Headers, { etag, modifiedAt }: Validators): boolean {
  const ifRange = headers.get("if-range");
  if (ifRange === null) return true;
  return ifRange.startsWith('"') ? ifRange.trim() === etag : dateOf(ifRange) === secondsOf(modifiedAt);
}
