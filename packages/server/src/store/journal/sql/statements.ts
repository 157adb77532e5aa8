/** Statements of the journal in PostgreSQL. `$1` is the name of the cluster everywhere. Times are the engine's, at the moment of the look. */

import { roleCharacters } from "../chain.ts";

const after = (milliseconds: string): string =>
  `clock_timestamp() + ${milliseconds}::bigint * interval '1 millisecond'`;

export const newCluster = `
INSERT INTO socle_cluster (cluster, id, format) VALUES ($1, $2, $3::int)
ON CONFLICT (cluster) DO NOTHING RETURNING id`;

export const cluster = "SELECT id, format FROM socle_cluster WHERE cluster = $1";

/**
 * `$2` position, `$3` term, `$4` body, `$5` id, `$6` id of the entry before. The lock on the row of the leader holds up a change of the term until the
 * commit, and a statement that waited for such a change looks at the new term (READ COMMITTED). The entry needs the entry before, or the
 * trimmed position before. Answers whether the term and the role hold, and whether the entry was added.
 */
function appendWith(part: string, column: string): string {
  return `
WITH fence AS (
  SELECT 1 FROM socle_leader WHERE cluster = $1 AND term = $3::bigint AND role = left($5::text, ${roleCharacters}) FOR SHARE
), added AS (
  INSERT INTO socle_journal (cluster, position, term, body, id, before)
  SELECT $1, $2::bigint, $3::bigint, $4::bytea, $5::text, $6::text FROM fence
  WHERE EXISTS (SELECT 1 FROM socle_journal WHERE cluster = $1 AND position = $2::bigint - 1 AND id IS NOT DISTINCT FROM $6::text)
    OR EXISTS (SELECT 1 FROM socle_cluster WHERE cluster = $1 AND trimmed = $2::bigint - 1
      AND (trimmed_id IS NULL OR trimmed_id = $6::text))
  ON CONFLICT (cluster, position) DO NOTHING RETURNING 1
)${part}
SELECT EXISTS (SELECT 1 FROM fence) AS holds, EXISTS (SELECT 1 FROM added) AS added${column}`;
}

/**
 * The statement of an append. @param begins whether the entry is the first of a role.
 * @param call a function beside the entry: `$7` and `$8` are values of the function.
 */
export function append(begins: boolean, call: string | null): string {
  return appendWith(
    begins
      ? ", begun AS (INSERT INTO socle_roles (cluster, id, position) SELECT $1, $5::text, $2::bigint FROM added)"
      : "",
    call === null ? "" : `, CASE WHEN EXISTS (SELECT 1 FROM added) THEN ${call}($2::bigint, $7::text, $8::text) END`,
  );
}

/** `$2` position, `$3` id. */
export const standing = `
SELECT term, id IS NOT DISTINCT FROM $3::text AS same FROM socle_journal WHERE cluster = $1 AND position = $2::bigint`;

/** The columns that tell whether the journal has the place at position `$2`: `stands` is empty for an entry without an id, and null without an entry. */
const place = `c.id AS journal, c.trimmed, c.trimmed_id,
  (SELECT coalesce(id, '') FROM socle_journal WHERE cluster = $1 AND position = $2::bigint) AS stands`;

/** `$2` position. */
export const check = `SELECT ${place} FROM socle_cluster c WHERE c.cluster = $1`;

export const roles = `
SELECT id, position FROM socle_roles WHERE cluster = $1 ORDER BY position`;

/** `$2` position, `$3` id, `$4` the other roles as JSON: `[[position, id], …]`. */
export const begin = `
WITH entries AS (DELETE FROM socle_journal WHERE cluster = $1),
  snapshots AS (DELETE FROM socle_snapshots WHERE cluster = $1 AND position <> $2::bigint),
  known AS (
    INSERT INTO socle_roles AS r (cluster, position, id)
    SELECT $1, (role->>0)::bigint, role->>1 FROM jsonb_array_elements($4::text::jsonb) AS role
    ON CONFLICT (cluster, id) DO NOTHING
  ),
  others AS (
    DELETE FROM socle_roles WHERE cluster = $1
      AND id NOT IN (SELECT role->>1 FROM jsonb_array_elements($4::text::jsonb) AS role)
  )
UPDATE socle_cluster SET trimmed = $2::bigint, trimmed_id = $3::text WHERE cluster = $1 RETURNING id`;

/** `$2` position to read after, `$3` bytes, `$4` the most entries. A row without an entry when the journal has no later entry. */
export const read = `
SELECT ${place}, e.position, e.term, e.body, e.id, e.before
FROM socle_cluster c LEFT JOIN LATERAL (
  SELECT position, term, body, id, before, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS size_before
  FROM (
    SELECT position, term, body, id, before FROM socle_journal
    WHERE cluster = $1 AND position > $2::bigint ORDER BY position LIMIT $4::int
  ) AS page
) e ON e.size_before < $3::bigint
WHERE c.cluster = $1 ORDER BY e.position`;

export const extent = `
SELECT c.trimmed, c.trimmed_term, c.trimmed_id, e.first, e.last, e.bytes, l.term, l.id
FROM socle_cluster c, (
  SELECT min(position) AS first, max(position) AS last, coalesce(sum(octet_length(body)), 0)::bigint AS bytes
  FROM socle_journal WHERE cluster = $1
) e LEFT JOIN socle_journal l ON l.cluster = $1 AND l.position = e.last
WHERE c.cluster = $1`;

/** `$2` position. Marks the entries as trimmed before any goes, so that no reader takes a part of the journal for the whole. */
export const markTrimmed = `
UPDATE socle_cluster SET trimmed = e.position, trimmed_term = e.term, trimmed_id = e.id
FROM (
  SELECT position, term, id FROM socle_journal WHERE cluster = $1 AND position <= $2::bigint ORDER BY position DESC LIMIT 1
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

/** `$2` instance, `$3` address, `$4` milliseconds, `$5` role. */
export const takeLease = `
INSERT INTO socle_leader AS l (cluster, term, instance, address, expires, role) VALUES ($1, 1, $2, $3, ${after("$4")}, $5)
ON CONFLICT (cluster) DO UPDATE
SET term = l.term + 1, instance = excluded.instance, address = excluded.address, expires = ${after("$4")}, role = excluded.role
WHERE l.expires <= clock_timestamp() OR l.instance = excluded.instance
RETURNING term`;

/** `$2` term, `$3` role, `$4` milliseconds. */
export const renewLease = `
UPDATE socle_leader SET expires = ${after("$4")} WHERE cluster = $1 AND term = $2::bigint AND role = $3 RETURNING term`;

/** `$2` term, `$3` role, `$4` instance, `$5` address, `$6` milliseconds. The greater term fences the appends of the former leader. */
export const passLease = `
UPDATE socle_leader SET term = term + 1, instance = $4, address = $5, expires = ${after("$6")}
WHERE cluster = $1 AND term = $2::bigint AND role = $3 RETURNING term`;

/** `$2` term, `$3` role, `$4` milliseconds. */
export const nextTerm = `
UPDATE socle_leader SET term = term + 1, expires = ${after("$4")}
WHERE cluster = $1 AND term = $2::bigint AND role = $3 RETURNING term`;

/** `$2` name, `$3` run, `$4` address, `$5` version, `$6` position, `$7` milliseconds, `$8` problem, `$9` files. Removes the rows that ended a day ago. */
export const register = `
WITH gone AS (
  DELETE FROM socle_instances WHERE cluster = $1 AND name <> $2 AND expires < clock_timestamp() - interval '1 day'
)
INSERT INTO socle_instances AS i (cluster, name, run, address, version, position, expires, problem, files)
VALUES ($1, $2, $3, $4, $5, $6::bigint, ${after("$7")}, $8, $9)
ON CONFLICT (cluster, name) DO UPDATE
SET run = excluded.run, address = excluded.address, version = excluded.version, position = excluded.position, expires = ${after("$7")},
  problem = excluded.problem, files = excluded.files
WHERE i.run = excluded.run OR i.expires <= clock_timestamp()
RETURNING run`;

/** `$2` name, `$3` run. */
export const unregister = "DELETE FROM socle_instances WHERE cluster = $1 AND name = $2 AND run = $3";

/** `$2` name. */
export const removeInstance =
  "DELETE FROM socle_instances WHERE cluster = $1 AND name = $2 AND expires <= clock_timestamp() RETURNING name";

export const instances = `
SELECT name, run, address, version, position, problem, files, expires > clock_timestamp() AS live
FROM socle_instances WHERE cluster = $1 ORDER BY name`;

export const files = "SELECT files FROM socle_files WHERE cluster = $1 ORDER BY number";

/** `$2` fingerprint. */
export const addFiles = `
INSERT INTO socle_files (cluster, number, files)
SELECT $1, coalesce(max(number), 0) + 1, $2::text FROM socle_files WHERE cluster = $1
ON CONFLICT (cluster, number) DO NOTHING`;

/** `$2` position, `$3` name, `$4` bytes, `$5` milliseconds since 1970. */
export const addSnapshot = `
INSERT INTO socle_snapshots (cluster, position, name, bytes, made_at) VALUES ($1, $2::bigint, $3, $4::bigint, $5::bigint)
ON CONFLICT (cluster, position) DO UPDATE SET name = excluded.name, bytes = excluded.bytes, made_at = excluded.made_at`;

/** `$2` position. */
export const removeSnapshot = "DELETE FROM socle_snapshots WHERE cluster = $1 AND position = $2::bigint";

export const snapshots = `
SELECT position, name, bytes, made_at FROM socle_snapshots WHERE cluster = $1 ORDER BY position DESC`;
