/** Schema of the journal in PostgreSQL. All clusters of a database share the tables. */

/** The layout of the tables; an executable refuses a cluster of another format. */
export const format = 1;

/**
 * Makes the tables, if missing. The statements run as one transaction under a lock, because PostgreSQL reports a conflict when two
 * instances make the same table at once. `trimmed` is the newest position that was trimmed, `trimmed_term` and
 * `trimmed_id` the term and the id of the entry there. `socle_roles` has the first entry of each role of a leader, `socle_files` the
 * fingerprints of the project folders of the leaders, in order.
 */
export const creation = `
SELECT pg_advisory_xact_lock(7240198113);
CREATE TABLE IF NOT EXISTS socle_cluster (
  cluster text PRIMARY KEY,
  id text NOT NULL,
  format int NOT NULL,
  trimmed bigint NOT NULL DEFAULT 0,
  trimmed_term bigint NOT NULL DEFAULT 0,
  trimmed_id text
);
CREATE TABLE IF NOT EXISTS socle_journal (
  cluster text NOT NULL,
  position bigint NOT NULL,
  term bigint NOT NULL,
  body bytea NOT NULL,
  id text,
  before text,
  PRIMARY KEY (cluster, position)
);
CREATE TABLE IF NOT EXISTS socle_leader (
  cluster text PRIMARY KEY,
  term bigint NOT NULL,
  instance text NOT NULL,
  address text NOT NULL,
  expires timestamptz NOT NULL,
  role text
);
CREATE TABLE IF NOT EXISTS socle_roles (
  cluster text NOT NULL,
  id text NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (cluster, id)
);
CREATE TABLE IF NOT EXISTS socle_instances (
  cluster text NOT NULL,
  name text NOT NULL,
  run text NOT NULL,
  address text NOT NULL,
  version text NOT NULL,
  position bigint NOT NULL,
  expires timestamptz NOT NULL,
  problem text,
  files text,
  PRIMARY KEY (cluster, name)
);
CREATE TABLE IF NOT EXISTS socle_files (
  cluster text NOT NULL,
  number bigint NOT NULL,
  files text NOT NULL,
  PRIMARY KEY (cluster, number)
);
CREATE TABLE IF NOT EXISTS socle_snapshots (
  cluster text NOT NULL,
  position bigint NOT NULL,
  name text NOT NULL,
  bytes bigint NOT NULL,
  made_at bigint NOT NULL,
  PRIMARY KEY (cluster, position)
);`;

/** Answers a row for tables of a version without ids of entries. Such an instance can run beside this version: its entries have no id. */
export const isWithoutIds = `
SELECT 1 AS yes WHERE NOT EXISTS (
  SELECT 1 FROM pg_attribute WHERE attrelid = 'socle_instances'::regclass AND attname = 'files' AND NOT attisdropped
)`;

/** Adds the columns of ids, in a transaction. A table with the columns is left alone: the change waits for all statements on the table. */
export const ids = `
SELECT pg_advisory_xact_lock(7240198113);
ALTER TABLE socle_cluster ADD COLUMN IF NOT EXISTS trimmed_id text;
ALTER TABLE socle_journal ADD COLUMN IF NOT EXISTS id text, ADD COLUMN IF NOT EXISTS before text;
ALTER TABLE socle_leader ADD COLUMN IF NOT EXISTS role text;
ALTER TABLE socle_instances ADD COLUMN IF NOT EXISTS problem text, ADD COLUMN IF NOT EXISTS files text;`;
