/** Schema of the journal in PostgreSQL. All clusters of a database share the tables. */

/** The layout of the tables; an executable refuses a cluster of another format. */
export const format = 1;

/**
 * Makes the tables, if missing. The statements run as one transaction under a lock, because PostgreSQL reports a conflict when two
 * instances make the same table at once. `trimmed` is the newest position that was trimmed, `trimmed_term` the term of the entry there.
 */
export const creation = `
SELECT pg_advisory_xact_lock(7240198113);
CREATE TABLE IF NOT EXISTS socle_cluster (
  cluster text PRIMARY KEY,
  id text NOT NULL,
  format int NOT NULL,
  trimmed bigint NOT NULL DEFAULT 0,
  trimmed_term bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS socle_journal (
  cluster text NOT NULL,
  position bigint NOT NULL,
  term bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (cluster, position)
);
CREATE TABLE IF NOT EXISTS socle_leader (
  cluster text PRIMARY KEY,
  term bigint NOT NULL,
  instance text NOT NULL,
  address text NOT NULL,
  expires timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS socle_instances (
  cluster text NOT NULL,
  name text NOT NULL,
  run text NOT NULL,
  address text NOT NULL,
  version text NOT NULL,
  position bigint NOT NULL,
  expires timestamptz NOT NULL,
  PRIMARY KEY (cluster, name)
);
CREATE TABLE IF NOT EXISTS socle_snapshots (
  cluster text NOT NULL,
  position bigint NOT NULL,
  name text NOT NULL,
  bytes bigint NOT NULL,
  made_at bigint NOT NULL,
  PRIMARY KEY (cluster, position)
);`;
