import type { ChildOptions } from "./protocol.ts";

/** Makes this process the one that runs the user's code. Its modules are loaded only then. */
export async function startChild(options: ChildOptions): Promise<void> {
  const child = await import("./child/main.ts");
  child.runScripts(options);
}

/** Makes this process one that runs `db.query`. */
export async function startQueries(options: { database: string }): Promise<void> {
  const child = await import("./child/query.ts");
  child.runQueries(options);
}
