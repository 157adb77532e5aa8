/** Starts the side of the protocol that runs in a process of its own, in this process. */
import type { ChildOptions } from "./protocol.ts";
import type { QueryOptions } from "./query-pool.ts";

/** Makes this process a script process. Its modules are loaded only then. */
export async function startChild(options: ChildOptions): Promise<void> {
  const child = await import("./child/main.ts");
  child.runScripts(options);
}

/** Makes this process a process of the query pool. */
export async function startQueries(options: QueryOptions): Promise<void> {
  const child = await import("./child/query.ts");
  child.runQueries(options);
}
