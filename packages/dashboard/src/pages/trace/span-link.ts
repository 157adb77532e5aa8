/** The page of a part of a trace. */
import type { TraceSpan } from "@socle/protocol";
import { linkOptions } from "@tanstack/react-router";

/** The link to the page of a span; null for a span without a page. */
export function spanLink({ kind, id, name }: Pick<TraceSpan, "kind" | "id" | "name">) {
  const job = kind === "job" ? /^jobs\/(\w[^/]*?)\.[a-z]+(?::|$)/.exec(name)?.[1] : undefined;
  if (kind === "event") return linkOptions({ to: "/events", search: { event: id } });
  if (kind === "function") return linkOptions({ to: "/functions", search: { tab: "runs", run: id } });
  if (job !== undefined) return linkOptions({ to: "/jobs", search: { job, run: id } });
  return kind === "mail" ? linkOptions({ to: "/mails", search: { mail: id } }) : null;
}
