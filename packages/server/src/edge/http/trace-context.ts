/** Trace context: the trace of which the caller's request is a part (W3C Trace Context, 3.2). */

const zeros = /^0+$/;

/** The trace and the parent of a `traceparent`, with a hyphen between; null for no valid value. */
export function linkIn(traceparent: string | null): string | null {
  if (traceparent === null) return null;
  const [, version, trace = "", parent = "", more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent) ?? [];
  // A later version may have more parts.
  const isKnown = version !== undefined && version !== "ff" && (version !== "00" || more === undefined);
  return isKnown && !zeros.test(trace) && !zeros.test(parent) ? `${trace}-${parent}` : null;
}
