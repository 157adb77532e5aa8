/** Opening a journal: the driver by the scheme of the address. */
import { SetupError } from "../../base/kernel/index.ts";
import { readAddress } from "./address.ts";
import type { Journal, JournalOptions } from "./journal.ts";
import { PostgresJournal } from "./sql/postgres-journal.ts";

/**
 * The journal at `url`; connects at `Journal.open`. An address for PostgreSQL is
 * `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with these parameters among others:
 *
 * - `sslmode`: `disable`, `prefer` (the default), `require`, `verify-ca` or `verify-full`;
 * - `sslrootcert`: the file of the certificates that the engine's certificate is compared with; alone, means `verify-full`;
 * - `prepare=false`: behind a pooler in transaction mode, like PgBouncer. Statements then have no names, and the
 *   session sends no `statement_timeout`; each statement is a transaction, so that any connection of the pooler serves.
 *
 * @throws SetupError for an address of another kind.
 */
export function openJournal({ url, cluster, logger, timeoutMs = 5_000 }: JournalOptions): Journal {
  const address = readAddress(url);
  if (address === null)
    throw new SetupError("cluster.journal must be an address like postgres://USER:PASSWORD@HOST:PORT/DATABASE.");
  return new PostgresJournal({ address, cluster, logger, timeoutMs });
}
