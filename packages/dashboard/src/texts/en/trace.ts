/** Texts of the page of a trace. */
import { count } from "./count.ts";

export const trace = {
  title: "Trace",
  open: "Show the trace",
  spans: (n: number) => count(n, "part"),
  by: ", by",
  nobody: "an anonymous caller",
  part: "Part",
  starts: "Starts",
  takes: "Takes",
  line: "Time line",
  status: "Status",
  kinds: {
    request: "Request",
    import: "Import",
    migration: "Migration",
    undo: "Undo",
    transaction: "Transaction",
    event: "Event",
    function: "Function",
    job: "Job",
    mail: "Mail",
    log: "Log",
  },
  unknown: "Unknown",
  after: (time: string) => `+ ${time}`,
  truncated: "The trace has more than 1,000 parts. The first are shown.",
  trimmed: "The event log has lost events from the time of this trace.",
  link: (traceparent: string) =>
    `The caller has sent this request as a part of the trace ${traceparent.split("-")[0]}.`,
  empty: "No parts",
};
