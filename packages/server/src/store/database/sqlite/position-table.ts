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

export function placeOf(reader: Reader): { position: number; journal: string | null } {
  const row = reader.get<{ position: number; journal: string | null }>("SELECT position, journal FROM _position");
  return row ?? { position: 0, journal: null };
}
