/** The schema of a mirror in PostgreSQL: the name, the tables that tell the state, and the function that changes the mirror in an append. */
import { identifier, literal } from "../../../store/database/index.ts";
import type { Journal } from "../../../store/journal/index.ts";

/** The longest name in PostgreSQL, in bytes; a longer name would be cut off. */
const maxName = 63;
/** How long a change waits for the locks of others: meanwhile, all writes of the cluster wait. */
const lockMs = 200;

/** `building`: tables are missing, and come. `stopped`: the tables stay as they were at the position. */
export type MirrorPhase = "whole" | "building" | "stopped";

export interface MirrorState {
  readonly schema: string;
  /** The newest commit that the tables have; null before the first. */
  readonly position: number | null;
  readonly state: MirrorPhase;
  /** Why the mirror has stopped. */
  readonly reason: string | null;
}

/** The unquoted name of the schema of a cluster. The name of a long cluster ends with a hash. */
export function schemaOf(cluster: string): string {
  const name = `socle_${cluster}`;
  return name.length <= maxName ? name : `${name.slice(0, maxName - 17)}_${hash(name)}`;
}

/** The unquoted name of the table in which the records of a collection are put together. No collection begins with `_`. */
export function buildingName(collection: string): string {
  return `_building_${hash(collection)}`;
}

function hash(text: string): string {
  return Bun.hash(text).toString(16).padStart(16, "0");
}

/** The quoted name of the function that the append calls: `(position, state, changes)`; `changes` is JSON of `[{ "sql", "rows" }]`. */
export function callOf(schema: string): string {
  return `${identifier(schema)}._mirror_run`;
}

/** Makes the schema and the function, if missing. */
export function preparation(schema: string): string {
  const name = identifier(schema);
  return `
SELECT pg_advisory_xact_lock(7240198113);
CREATE SCHEMA IF NOT EXISTS ${name};
CREATE OR REPLACE FUNCTION ${callOf(schema)}(at bigint, phase text, changes text) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '${lockMs}ms' AS $function$
DECLARE change jsonb;
BEGIN
  FOR change IN SELECT jsonb_array_elements(changes::jsonb) LOOP
    EXECUTE change->>'sql' USING change->'rows';
  END LOOP;
  UPDATE ${name}._mirror SET position = at, state = phase WHERE position = at - 1 OR position IS NULL;
  IF NOT FOUND THEN RAISE EXCEPTION 'the mirror is not at the position before %', at; END IF;
  RETURN true;
END $function$;`;
}

/** Removes all tables of the schema, and begins a mirror without tables; a leader of a former term removes nothing. */
export function beginning(schema: string, mirrorOf: { cluster: string; term: number; journal: string }): string {
  const name = identifier(schema);
  return `
DO $do$
DECLARE old name;
BEGIN
  PERFORM 1 FROM socle_leader WHERE cluster = ${literal(mirrorOf.cluster)} AND term = ${mirrorOf.term} FOR SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another instance leads'; END IF;
  FOR old IN SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = ${literal(schema)} LOOP
    EXECUTE format('DROP TABLE %I.%I CASCADE', ${literal(schema)}, old);
  END LOOP;
END $do$;
CREATE TABLE ${name}._mirror (single boolean PRIMARY KEY CHECK (single), journal text NOT NULL, position bigint, state text NOT NULL, reason text);
CREATE TABLE ${name}._mirror_tables (collection text PRIMARY KEY, shape text NOT NULL, built_to bigint);
INSERT INTO ${name}._mirror (single, journal, state) VALUES (true, ${literal(mirrorOf.journal)}, 'building');`;
}

/** `$1` reason, `$2` the position of the mirror that has stopped. */
export function stop(schema: string): string {
  return `UPDATE ${identifier(schema)}._mirror SET state = 'stopped', reason = $1 WHERE position IS NOT DISTINCT FROM $2::bigint`;
}

/** The row of `_mirror`; null for a cluster without a mirror. @throws JournalAway. */
export async function readState(journal: Journal, schema: string): Promise<(MirrorState & { journal: string }) | null> {
  const table = `${identifier(schema)}._mirror`;
  const [found] = await journal.ask<{ there: boolean }>("SELECT to_regclass($1) IS NOT NULL AS there", [table]);
  if (found?.there !== true) return null;
  type Row = { journal: string; position: string | null; state: MirrorPhase; reason: string | null };
  const [row] = await journal.ask<Row>(`SELECT journal, position, state, reason FROM ${table}`);
  if (row === undefined) return null;
  return { ...row, schema, position: row.position === null ? null : Number(row.position) };
}

export interface KeptTable {
  readonly collection: string;
  readonly shape: string;
  /** The `_seq` up to which the table has the records; null for a whole table. */
  readonly builtTo: number | null;
}

/** The tables of a mirror. @throws JournalAway. */
export async function readTables(journal: Journal, schema: string): Promise<KeptTable[]> {
  type Row = { collection: string; shape: string; built_to: string | null };
  const rows = await journal.ask<Row>(`SELECT collection, shape, built_to FROM ${identifier(schema)}._mirror_tables`);
  return rows.map(({ collection, shape, built_to: to }) => {
    return { collection, shape, builtTo: to === null ? null : Number(to) };
  });
}
