/** The SQL console (`/_/sql`): a statement that reads, its rows, its plan; the last and the saved statements. */
import type { CollectionEntry, SqlAnswer } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { IconBookmark, IconPlayerPlay, IconX } from "../../icons/index.ts";
import { Action, CodeText, Dim, FilledPage, messageOf, Notice, RowsSkeleton } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { NoResult, Result, type ResultTab } from "./result.tsx";
import classes from "./sql.module.css";
import { SqlArea } from "./sql-area.tsx";
import { SaveDialog, StatementMenu } from "./statement-menu.tsx";
import { useStatements } from "./statements.ts";

const route = getRouteApi("/inside/sql");
const words = text.sql;

/** A longer statement is not in the address. */
const maxAddress = 1_500;

/** Columns of each table that a statement can read. */
function tablesOf(collections: readonly CollectionEntry[]): { [table: string]: string[] } {
  const tables = collections.map(({ name, fields }): [string, string[]] => [
    name,
    ["id", ...fields.map((field) => field.name), "createdAt", "updatedAt", "_owner"],
  ]);
  return { users: ["id", "email", "role", "createdAt", "verifiedAt"], ...Object.fromEntries(tables) };
}

/** Runs a statement, or only plans the statement; a run can be cancelled. */
function useRun(remember: (sql: string) => void) {
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const mutation = useMutation({
    mutationFn: async ({ sql, tab }: { sql: string; tab: ResultTab }): Promise<SqlAnswer> => {
      if (tab === "plan") return client.admin.sqlPlan(sql);
      running.current = new AbortController();
      remember(sql);
      const { signal } = running.current;
      return client.admin.sql(sql, { signal }).catch((error: unknown) => {
        throw signal.aborted ? new Error(words.cancelled) : error;
      });
    },
  });
  return { ...mutation, cancel: () => running.current?.abort() };
}

export function SqlPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: collections } = useQuery(collectionsQuery);
  const tables = useMemo(() => tablesOf(collections ?? []), [collections]);
  const statements = useStatements();
  const [sql, setSql] = useState(search.sql ?? statements.last[0] ?? "");
  const [tab, setTab] = useState<ResultTab>("rows");
  const [isSaving, setSaving] = useState(false);
  const run = useRun(statements.remember);
  const isEmpty = sql.trim() === "";
  const start = (next: ResultTab): void => {
    if (isEmpty || run.isPending) return;
    setTab(next);
    run.mutate({ sql, tab: next });
    void navigate({ search: { sql: sql.length > maxAddress ? undefined : sql }, replace: true });
  };
  return (
    <FilledPage
      title={words.title}
      actions={
        <>
          <StatementMenu statements={statements} onOpen={setSql} />
          <Action icon={IconBookmark} label={words.save} disabled={isEmpty} onClick={() => setSaving(true)} />
          <Action label={words.showPlan} disabled={isEmpty || run.isPending} onClick={() => start("plan")} />
          {run.isPending ? (
            <Action icon={IconX} label={words.cancel} variant="filled" onClick={run.cancel} />
          ) : (
            <Action
              icon={IconPlayerPlay}
              label={words.run}
              variant="filled"
              disabled={isEmpty}
              onClick={() => start("rows")}
            />
          )}
        </>
      }
    >
      <SqlArea value={sql} onChange={setSql} onRun={() => start("rows")} tables={tables} />
      <Dim className={classes["hint"] ?? ""}>
        <CodeText text={words.hint} />
      </Dim>
      <section className={`fills ${classes["place"]}`} aria-label={words.result}>
        {run.isPending && <RowsSkeleton rows={6} height={24} />}
        {run.isError && (
          <Notice tone="bad" m="md" title={words.failed} role="alert">
            <span className="breaks">{messageOf(run.error)}</span>
          </Notice>
        )}
        {run.isSuccess && <Result answer={run.data} isRun={run.variables.tab === "rows"} tab={tab} onTab={setTab} />}
        {run.isIdle && <NoResult />}
      </section>
      <SaveDialog isOpen={isSaving} sql={sql} statements={statements} onClose={() => setSaving(false)} />
    </FilledPage>
  );
}
