/** The last statements and the saved statements, which the browser keeps: the service has no list of statements of an admin. */
import { useLocalStorage } from "@mantine/hooks";

/** The last statements that are kept, and the saved ones. */
const maxLast = 30;
const maxSaved = 200;

export interface SavedStatement {
  readonly name: string;
  readonly sql: string;
}

/** The list with the newest first, without a statement twice. */
export function withLast(last: readonly string[], sql: string): string[] {
  return [sql, ...last.filter((each) => each !== sql)].slice(0, maxLast);
}

/** The list by name; a statement of the same name is replaced. */
export function withSaved(saved: readonly SavedStatement[], statement: SavedStatement): SavedStatement[] {
  return [...saved.filter(({ name }) => name !== statement.name), statement]
    .sort((a, b) => a.name.localeCompare(b.name))
    .slice(0, maxSaved);
}

export function useStatements() {
  // The first render has the statements: the page opens with the last statement.
  const [last, setLast] = useLocalStorage<string[]>({
    key: "socle.sql.last",
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const [saved, setSaved] = useLocalStorage<SavedStatement[]>({ key: "socle.sql.saved", defaultValue: [] });
  return {
    last,
    saved,
    remember: (sql: string) => setLast((old) => withLast(old, sql)),
    save: (statement: SavedStatement) => setSaved((old) => withSaved(old, statement)),
    remove: (name: string) => setSaved((old) => old.filter((each) => each.name !== name)),
  };
}
