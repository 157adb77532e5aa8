/** The tables of the position: the number of the last commit of a service with several processes, and the place in the chain of a journal. */
import { beginning, type ChainPlace, type History, roleOf } from "../../journal/index.ts";
import type { Reader } from "../store.ts";
import type { TransactionConnection } from "../transaction.ts";

export function positionOf(reader: Reader): number {
  return reader.get<{ position: number }>("SELECT position FROM _position")?.position ?? 0;
}

/** Writes the number of a commit, in the transaction of the commit. */
export function writePosition(connection: TransactionConnection, position: number): void {
  connection.run("UPDATE _position SET position = ?", position);
}

/** Writes the place of a commit behind the place `before`, in the transaction of the commit. */
export function writePlace(connection: TransactionConnection, { position, id }: ChainPlace, before: ChainPlace): void {
  connection.run("UPDATE _position SET position = ?, entry = ?", position, id);
  if (id !== null && roleOf(id) !== roleOf(before.id))
    connection.run("INSERT INTO _roles (position, id) VALUES (?, ?)", position, id);
}

/** The place in a journal, and the id of the journal; null for the database of a single service. */
export interface JournalPlace extends ChainPlace {
  readonly journal: string | null;
}

export function placeOf(reader: Reader): JournalPlace {
  const row = reader.get<JournalPlace>("SELECT position, entry AS id, journal FROM _position");
  return row ?? { ...beginning, journal: null };
}

export function historyOf(reader: Reader): History {
  const { position, id } = placeOf(reader);
  return { roles: reader.all<ChainPlace>("SELECT position, id FROM _roles ORDER BY position"), end: { position, id } };
}
