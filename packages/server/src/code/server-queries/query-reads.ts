/** Reads of a run of a server query: refuses every call that is no read, and tells the data that the value depends on. */
import { USERS } from "@socle/protocol";
import { AppError } from "../../base/kernel/index.ts";
import { anything, type LiveDependencies } from "../../live/realtime/index.ts";
import type { CallMessage, Read, Reads } from "../script-host/index.ts";

/** The most reads of a run. */
const maxReads = 1_000;

type Call = Pick<CallMessage, "method" | "args" | "as">;

const recordReads = ["db.get", "db.page", "db.list", "db.query"] as const;
const userReads: readonly string[] = ["users.list", "users.get", "users.findByEmail"];
const fileReads: readonly string[] = ["storage.get", "storage.read"];

export class QueryReads {
  /** The different reads of records; the parameters of a SQL text do not count. */
  readonly #records = new Map<string, Pick<Read, "method" | "args" | "as">>();
  readonly #callerId: string | null;
  #readsUsers = false;
  #readsFiles = false;
  #number = 0;
  /** Milliseconds of all reads together. */
  ms = 0;

  /** @param callerId the user for whom the query runs; null for nobody. */
  constructor(callerId: string | null) {
    this.#callerId = callerId;
  }

  /** Notes a call before the answer; the returned function, the end of the call. @throws AppError `internal_error`: the query has a mistake, and the log says which. */
  note({ method, args, as }: Call): () => void {
    const read = recordReads.find((each) => each === method);
    if (read === undefined && !userReads.includes(method) && !fileReads.includes(method))
      throw new AppError("internal_error", `${method}: a query only reads. Make changes in an endpoint or a function.`);
    this.#number += 1;
    if (this.#number > maxReads)
      throw new AppError("internal_error", `${method}: a query makes ${maxReads} reads at most. Read a list instead.`);
    if (userReads.includes(method)) this.#readsUsers = true;
    else if (fileReads.includes(method)) this.#readsFiles = true;
    else if (read !== undefined) {
      const texts = args.slice(0, read === "db.page" ? 2 : 1).map(String);
      this.#records.set(JSON.stringify([read, as, ...texts]), { method: read, args: texts, as });
    }
    const start = performance.now();
    return () => {
      this.ms += performance.now() - start;
    };
  }

  /** The data that the value depends on. @param usesCaller whether the query has looked at the caller. */
  dependencies(reads: Pick<Reads, "dependencies">, usesCaller: boolean): LiveDependencies {
    const collections = new Map<string, "any" | "own">();
    let onTime = false;
    // The caller is a row of the users.
    if (usesCaller) collections.set(USERS, "own");
    if (this.#readsUsers) collections.set(USERS, "any");
    if (this.#readsFiles) collections.set(anything, "any");
    for (const read of this.#records.values()) {
      const found = reads.dependencies(read);
      for (const name of found?.collections ?? [anything]) collections.set(name, "any");
      onTime ||= found?.onTime === true;
      // The role of the user of `db.as` decides, too, and ends with the user.
      if (read.as !== undefined && read.as !== "" && collections.get(USERS) !== "any")
        collections.set(USERS, read.as === this.#callerId ? "own" : "any");
    }
    return { collections, onTime };
  }
}
