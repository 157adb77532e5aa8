/** The database of a stopped service as a whole: a change and the event are both stored, or neither is. */
import { withDatabase } from "./disks-data.ts";

/** Records without an event, and events without a record. */
export function halves(folder: string, tables: readonly string[]): string[] {
  return withDatabase(folder, (database) =>
    tables.flatMap((table) => {
      const created = `SELECT payload ->> 'id' AS id FROM _events WHERE type = '${table}.created'`;
      const deleted = `SELECT payload ->> 'id' AS id FROM _events WHERE type = '${table}.deleted'`;
      const ids = (sql: string): string[] =>
        database
          .query<{ id: string }, []>(sql)
          .all()
          .map(({ id }) => id);
      const there = `SELECT id FROM "${table}"`;
      return [
        ...ids(`${there} WHERE id NOT IN (${created})`).map((id) => `${id} has no event`),
        ...ids(`${created} EXCEPT ${there} EXCEPT ${deleted}`).map((id) => `the event of ${id} has no record`),
        ...ids(`${deleted} INTERSECT ${there}`).map((id) => `${id} is there after the event of its deletion`),
      ];
    }),
  );
}
