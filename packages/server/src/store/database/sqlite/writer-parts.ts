/** Parts of the writer: the connection, the flush, and all that the writer tells of a commit. */
import type { Logger } from "../../../base/logging/index.ts";
import type { Projection } from "../transaction.ts";
import type { Checkpointer } from "./checkpointer.ts";
import type { Connection, SnapshotReader } from "./connection.ts";
import type { Flusher, SqliteMeter } from "./jobs.ts";
import type { Reserve } from "./reserve.ts";
import type { ThreadConnection } from "./thread-connection.ts";

export interface WriterParts {
  readonly connection: Connection;
  readonly flusher: Flusher;
  readonly checkpointer: Checkpointer;
  readonly reader: SnapshotReader;
  /** Opens a connection for a long migration. */
  readonly openThread: () => ThreadConnection;
  /** Called once, when a flush has failed and the writer can no longer promise durability. */
  readonly onFatal: (error: unknown) => void;
  readonly meter: SqliteMeter;
  readonly projection: Projection;
  readonly logger: Logger;
  readonly reserve: Reserve | null;
}
