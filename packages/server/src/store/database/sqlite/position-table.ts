/** The table of the position: the number of the last commit of a service with several processes. */
import type { Reader } from "../store.ts";
import type { TransactionConnection } from "../transaction.ts";

export function positionOf(reader: Reader): number {
  return reader.get<{ position: number }>("SELECT position FROM _position")?.position ?? 0;
}

/** Writes the number of a commit, in the transaction of the commit. */
export function writePosition(connection: TransactionConnection, position: number): void {
  connection.run("UPDATE _position SET position = ?", position);
}
