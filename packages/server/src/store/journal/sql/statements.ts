/** Statements of the journal in PostgreSQL. `$1` is the name of the cluster everywhere. Times are the engine's, at the moment of the look. */

const after = (milliseconds: string): string =>
  `clock_timestamp() + ${milliseconds}::bigint * interval '1 millisecond'`;

export const newCluster = `
INSERT INTO socle_cluster (cluster, id, format) VALUES ($1, $2, $3::int)
ON CONFLICT (cluster) DO NOTHING RETURNING id`;

export const cluster = "SELECT id, format FROM socle_cluster WHERE cluster = $1";

/**
 * `$2` position, `$3` term, `$4` body. The lock on the row of the leader holds up a change of the term until the commit, and a
 * statement that waited for such a change looks at the new term (READ COMMITTED). The entry needs the entry before, or the
 * trimmed position before. Answers whether the term holds, and whether the entry was added.
 */
export const append = appendWith("");

/** `append` with a call of a function beside the entry: `$5` and `$6` are values of the function. */
export function appendBeside(call: string): string {
  return appendWith(`, CASE WHEN EXISTS (SELECT 1 FROM added) THEN ${call}($2::bigint, $5::text, $6::text) END`);
}

function appendWith(column: string): string {
  return `
WITH fence AS (
  SELECT 1 FROM socle_leader WHERE cluster = $1 AND term = $3::bigint FOR SHARE
), added AS (
  INSERT INTO socle_journal (cluster, position, term, body)
  SELECT $1, $2::bigint, $3::bigint, $4::bytea FROM fence
  WHERE EXISTS (SELECT 1 FROM socle_journal WHERE cluster = $1 AND position = $2::bigint - 1)
    OR EXISTS (SELECT 1 FROM socle_cluster WHERE cluster = $1 AND trimmed = $2::bigint - 1)
  ON CONFLICT (cluster, position) DO NOTHING RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM fence) AS holds, EXISTS (SELECT 1 FROM added) AS added${column}`;
}

/** `$2` position, `$3` body. */
export const standing = `
SELECT term, body = $3::bytea AS same FROM socle_journal WHERE cluster = $1 AND position = $2::bigint`;

/** `$2` position to read after, `$3` bytes, `$4` the most entries. A row without an entry when the journal has no later entry. */
export const read = `
SELECT c.trimmed, e.position, e.term, e.body
FROM socle_cluster c LEFT JOIN LATERAL (
  SELECT position, term, body, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS before
  FROM (
    SELECT position, term, body FROM socle_journal
    WHERE cluster = $1 AND position > $2::bigint ORDER BY position LIMIT $4::int
  ) AS page
) e ON e.before < $3::bigint
WHERE c.cluster = $1 ORDER BY e.position`;

export const extent = `
SELECT c.trimmed, c.trimmed_term, e.first, e.last, e.bytes,
  (SELECT term FROM socle_journal WHERE cluster = $1 AND position = e.last) AS term
FROM socle_cluster c, (
  SELECT min(position) AS first, max(position) AS last, coalesce(sum(octet_length(body)), 0)::bigint AS bytes
  FROM socle_journal WHERE cluster = $1
) e
WHERE c.cluster = $1`;

/** `$2` position. Marks the entries as trimmed before any goes, so that no reader takes a part of the journal for the whole. */
export const markTrimmed = `
UPDATE socle_cluster SET trimmed = e.position, trimmed_term = e.term
FROM (
  SELECT position, term FROM socle_journal WHERE cluster = $1 AND position <= $2::bigint ORDER BY position DESC LIMIT 1
) e
WHERE socle_cluster.cluster = $1 AND socle_cluster.trimmed < e.position`;

/** `$2` the most entries. Answers the removed positions. */
export const removeTrimmed = `
DELETE FROM socle_journal WHERE cluster = $1 AND position IN (
  SELECT j.position FROM socle_journal j, socle_cluster c
  WHERE j.cluster = $1 AND c.cluster = $1 AND j.position <= c.trimmed ORDER BY j.position LIMIT $2::int
) RETURNING position`;

export const leader = `
SELECT term, instance, address, expires > clock_timestamp() AS live FROM socle_leader WHERE cluster = $1`;

/** `$2` instance, `$3` address, `$4` milliseconds. */
export const takeLease = `
INSERT INTO socle_leader AS l (cluster, term, instance, address, expires) VALUES ($1, 1, $2, $3, ${after("$4")})
ON CONFLICT (cluster) DO UPDATE
SET term = l.term + 1, instance = excluded.instance, address = excluded.address, expires = ${after("$4")}
WHERE l.expires <= clock_timestamp() OR l.instance = excluded.instance
RETURNING term`;

/** `$2` term, `$3` milliseconds. */
export const renewLease = `
UPDATE socle_leader SET expires = ${after("$3")} WHERE cluster = $1 AND term = $2::bigint RETURNING term`;

/** `$2` term, `$3` milliseconds. */
export const nextTerm = `
UPDATE socle_leader SET term = term + 1, expires = ${after("$3")} WHERE cluster = $1 AND term = $2::bigint RETURNING term`;

/** `$2` name, `$3` run, `$4` address, `$5` version, `$6` position, `$7` milliseconds. Removes the rows that ended a day ago. */
export const register = `
WITH gone AS (
  DELETE FROM socle_instances WHERE cluster = $1 AND name <> $2 AND expires < clock_timestamp() - interval '1 day'
)
INSERT INTO socle_instances AS i (cluster, name, run, address, version, position, expires)
VALUES ($1, $2, $3, $4, $5, $6::bigint, ${after("$7")})
ON CONFLICT (cluster, name) DO UPDATE
SET run = excluded.run, address = excluded.address, version = excluded.version, position = excluded.position, expires = ${after("$7")}
WHERE i.run = excluded.run OR i.expires <= clock_timestamp()
RETURNING run`;

/** `$2` name, `$3` run. */
export const unregister = "DELETE FROM socle_instances WHERE cluster = $1 AND name = $2 AND run = $3";

export const instances = `
SELECT name, run, address, version, position, expires > clock_timestamp() AS live
FROM socle_instances WHERE cluster = $1 ORDER BY name`;

/** `$2` position, `$3` name, `$4` bytes, `$5` milliseconds since 1970. */
export const addSnapshot = `
INSERT INTO socle_snapshots (cluster, position, name, bytes, made_at) VALUES ($1, $2::bigint, $3, $4::bigint, $5::bigint)
ON CONFLICT (cluster, position) DO UPDATE SET name = excluded.name, bytes = excluded.bytes, made_at = excluded.made_at`;

/** `$2` position. */
export const removeSnapshot = "DELETE FROM socle_snapshots WHERE cluster = $1 AND position = $2::bigint";

export const snapshots = `
SELECT position, name, bytes, made_at FROM socle_snapshots WHERE cluster = $1 ORDER BY position DESC`;
