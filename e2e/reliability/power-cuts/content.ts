/** The check of the database in a folder in which the service was started after a power cut. */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { type Expected, type History, lossOf, possibleStates, possibleSteps, stateAfter } from "./ledger.ts";
import { fieldsOf } from "./workload.ts";

type Row = { readonly [column: string]: string | number | null };

/** The types of a record's events in order, by id. */
type Events = ReadonlyMap<string, readonly string[]>;

export function contentFaults(cwd: string, expected: Expected): string[] {
  const database = new Database(join(cwd, "socle.db"), { readonly: true });
  const all = (sql: string): Row[] => database.query<Row, []>(sql).all();
  try {
    const check = all("PRAGMA integrity_check").map((row) => Object.values(row).join());
    if (check.join() !== "ok") return check;
    const definitions = new Map(
      all("SELECT name, definition FROM _collections").map((row) => [text(row["name"]), row]),
    );
    const tables = [...definitions.keys()];
    return [
      ...definitionFaults(all, expected, definitions),
      ...tables.flatMap((table) => eventFaults(all, table)),
      ...recordFaults(all, expected, tables),
      ...userFaults(all, expected),
      ...effectFaults(all, tables),
    ];
  } finally {
    database.close();
  }
}

type All = (sql: string) => Row[];

function text(value: string | number | null | undefined): string {
  return String(value ?? "");
}

/** The definition is in a possible state, and the table has the columns. */
function definitionFaults(all: All, expected: Expected, definitions: ReadonlyMap<string, Row>): string[] {
  return expected.ledger.of("definition").flatMap((history) => {
    const stored = definitions.get(history.id)?.["definition"];
    if (stored === undefined)
      return possibleStates(expected, history).includes(null) ? [] : [`${history.id} is missing`];
    const { fields } = JSON.parse(text(stored)) as { fields: { name: string; type: string }[] };
    const columns = all(`PRAGMA table_info("${history.id}")`).map((row) => text(row["name"]));
    const own = columns.filter((name) => !["_seq", "id", "createdAt", "updatedAt", "_owner"].includes(name));
    return [
      ...(possibleStates(expected, history).includes(fieldsOf(fields))
        ? []
        : [`definition ${history.id} ${lossOf(fieldsOf(fields))}`]),
      ...(own.toSorted().join() ===
      fields
        .map(({ name }) => name)
        .toSorted()
        .join()
        ? []
        : [`the table ${history.id} has ${own}, its definition ${JSON.stringify(fields)}`]),
    ];
  });
}

function eventsOf(all: All, table: string): Events {
  const events = new Map<string, string[]>();
  for (const row of all(
    `SELECT type, payload ->> 'id' AS id FROM _events WHERE type GLOB '${table}.*' AND source = 'collections' ORDER BY seq`,
  )) {
    const id = text(row["id"]);
    events.set(id, [...(events.get(id) ?? []), text(row["type"]).slice(table.length + 1)]);
  }
  return events;
}

/** Each record has the event of the creation, and each creation event has the record or the event of the deletion. */
function eventFaults(all: All, table: string): string[] {
  const stored = new Set(all(`SELECT id FROM "${table}"`).map((row) => text(row["id"])));
  const events = eventsOf(all, table);
  return [...new Set([...stored, ...events.keys()])].flatMap((id) => {
    const types = events.get(id) ?? [];
    const isRight = types[0] === "created" && (types.at(-1) === "deleted") === !stored.has(id);
    return isRight ? [] : [`${table} ${id} is ${stored.has(id) ? "" : "not "}there, and its events are ${types}`];
  });
}

/** Each record is whole, in a possible state, with as many events as led to the state; no other record exists. */
function recordFaults(all: All, expected: Expected, tables: readonly string[]): string[] {
  return (["items", "tasks"] as const).flatMap((kind) => {
    const columns = kind === "items" ? "n, text" : "n";
    const isThere = tables.includes(kind);
    const events = isThere ? eventsOf(all, kind) : new Map<string, string[]>();
    const rows = isThere ? all(`SELECT id, ${columns} FROM "${kind}"`) : [];
    const found = new Map(rows.map(({ id = null, ...values }) => [text(id), JSON.stringify(values)]));
    const histories = expected.ledger.of(kind);
    const known = new Set(histories.map(({ id }) => id));
    return [
      ...[...found.keys()].filter((id) => !known.has(id)).map((id) => `${kind} ${id} was never written`),
      ...histories.flatMap((history) => recordFault(history, expected, { found, events })),
    ];
  });
}

function recordFault(
  history: History,
  { cut }: Expected,
  { found, events }: { found: ReadonlyMap<string, string>; events: Events },
): string[] {
  const { kind, id } = history;
  const state = found.get(id) ?? null;
  const told = (events.get(id) ?? []).length;
  const counts = possibleSteps(history, cut);
  if (counts.some((count) => stateAfter(history, count) === state && told === count)) return [];
  return [`${kind} ${id} ${lossOf(state)}, with ${told} events; ${counts.join(" or ")} steps were made`];
}

/** Each user has the event of the registration; the first admin has no such event. */
function userFaults(all: All, expected: Expected): string[] {
  const emails = new Set(all("SELECT email FROM _users").map((row) => text(row["email"])));
  const list = (sql: string): string => JSON.stringify(all(sql).map((row) => text(row["id"])));
  const users = list("SELECT id FROM _users WHERE role <> 'admin' ORDER BY id");
  const told = list("SELECT payload ->> 'userId' AS id FROM _events WHERE type = 'auth.register' ORDER BY id");
  return [
    ...(users === told ? [] : [`the users are ${users}, and those of events ${told}`]),
    ...expected.ledger.of("user").flatMap((history) => {
      const state = emails.has(history.id) ? "there" : null;
      return possibleStates(expected, history).includes(state) ? [] : [`user ${history.id} ${lossOf(state)}`];
    }),
  ];
}

/** The function has run for each stored task, and for no other task. */
function effectFaults(all: All, tables: readonly string[]): string[] {
  if (!tables.includes("tasks")) return [];
  const numbers = (table: string): string => JSON.stringify(all(`SELECT n FROM ${table} ORDER BY n`).map(({ n }) => n));
  const failed = all("SELECT count(*) AS n FROM _deliveries")[0]?.["n"];
  return [
    ...(failed === 0 ? [] : [`${failed} deliveries have failed`]),
    ...(numbers("tasks") === numbers("effects")
      ? []
      : [`the tasks are ${numbers("tasks")}, their effects ${numbers("effects")}`]),
  ];
}
