/** Writer parts: the other parts of the database that the writer uses. */
import type { Logger } from "../../../base/logging/index.ts";
import type { Projection } from "../projection.ts";
import type { Checkpointer } from "./checkpointer.ts";
import type { Connection } from "./connection.ts";
import type { Flusher } from "./flusher.ts";
import type { SqliteMeter } from "./meter.ts";
import type { Reserve } from "./reserve.ts";
import type { SnapshotReader } from "./snapshot-reader.ts";
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
