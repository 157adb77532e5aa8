/** Processes: reader processes beside the leader: their life, commits and events for them, requests and messages between the processes. */
export { LeaderLink } from "./leader-link.ts";
export type { ForReader, QueryNames, QueryRun, ReaderStart } from "./messages.ts";
export { ReaderProcesses } from "./reader-processes.ts";
export { namesOf, RemoteQueries, runFor } from "./remote-queries.ts";
