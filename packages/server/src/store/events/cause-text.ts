/**
 * The cause of a change as a text, which the tables of events, runs and mails keep: `kind id name`. Behind the id stand the first cause of the trace and
 * the caller's link, if there are any: `id>trace>link`.
 */
import type { Cause } from "../../base/kernel/index.ts";

export function causeText({ kind, id, name, trace = "", link }: Cause): string {
  const origin = trace === id ? "" : trace;
  const rest = link !== undefined ? `>${origin}>${link}` : origin === "" ? "" : `>${origin}`;
  return name === undefined ? `${kind} ${id}${rest}` : `${kind} ${id}${rest} ${name}`;
}

/** The cause in a text that `causeText` has written. */
export function causeIn(text: string): Cause {
  // A name may have spaces.
  const [kind = "", ids = "", ...name] = text.split(" ");
  const [id = "", trace = "", link] = ids.split(">");
  return {
    kind: kind as Cause["kind"],
    id,
    ...(name.length > 0 && { name: name.join(" ") }),
    ...(trace !== "" && { trace }),
    ...(link !== undefined && { link }),
  };
}

/** The id of a cause, and of the first cause of the trace if another. */
export function idsOf({ id, trace = id }: Cause): readonly string[] {
  return trace === id || trace === "" ? [id] : [id, trace];
}

/** As `idsOf`, of the cause in a text. */
export function idsIn(text: string): string[] {
  const from = text.indexOf(" ") + 1;
  const end = text.indexOf(" ", from);
  const ids = text.slice(from, end === -1 ? undefined : end);
  return ids.includes(">") ? ids.split(">", 2).filter((id) => id !== "") : [ids];
}

/** The id of the first cause of the trace of a cause. */
export function traceIn(text: string): string {
  return idsIn(text).at(-1) ?? "";
}
