/** The result of a statement: the rows as a table with exports, and SQLite's plan. */
import { Group, Tabs, Text } from "@mantine/core";
import type { SqlAnswer } from "@socle/protocol";
import { IconAlertTriangle, IconDownload, IconTable, IconTerminal2 } from "../../icons/index.ts";
import { Action, EmptyState, formatDuration, Mark, Notice, saveBlob } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { fileOf, planLines } from "./answer.ts";
import classes from "./sql.module.css";

const words = text.sql;

function Cell({ value }: { value: unknown }) {
  if (value === null) return <span className="quiet">{words.null}</span>;
  const shown = String(value);
  return (
    <span className={classes["cell"]} title={shown.length > 40 ? shown.slice(0, 2_000) : undefined}>
      {shown.slice(0, 500)}
    </span>
  );
}

export type ResultTab = "rows" | "plan";

interface ResultProps {
  answer: SqlAnswer;
  /** Whether the statement ran: a plan alone has no rows to show. */
  isRun: boolean;
  tab: ResultTab;
  onTab: (tab: ResultTab) => void;
}

export function Result({ answer, isRun, tab, onTab }: ResultProps) {
  const { rows, isCut, ms } = answer;
  return (
    <Tabs value={tab} onChange={(next) => onTab(next === "plan" ? "plan" : "rows")} className="stretch">
      <Group justify="space-between" gap="xs" className={classes["resultHead"]}>
        <Tabs.List aria-label={words.result}>
          <Tabs.Tab value="rows">{words.rows}</Tabs.Tab>
          <Tabs.Tab value="plan">{words.plan}</Tabs.Tab>
        </Tabs.List>
        {isRun && (
          <Group gap="xs">
            <Text size="sm" c="dimmed" role="status" className="numbers">
              {words.found(rows.length, formatDuration(ms))}
            </Text>
            {(["csv", "json"] as const).map((format) => (
              <Export key={format} answer={answer} format={format} />
            ))}
          </Group>
        )}
      </Group>
      {isRun && isCut && tab === "rows" && (
        <Notice tone="warn" radius={0} py={6}>
          {words.cut(rows.length)}
        </Notice>
      )}
      <Tabs.Panel value="rows" className={`fills ${classes["panel"]}`} tabIndex={0}>
        {isRun ? <Rows answer={answer} /> : <NoResult />}
      </Tabs.Panel>
      <Tabs.Panel value="plan" className={`fills ${classes["panel"]}`} tabIndex={0}>
        <Plan plan={answer.plan} />
      </Tabs.Panel>
    </Tabs>
  );
}

function Export({ answer, format }: { answer: SqlAnswer; format: "csv" | "json" }) {
  const label = format === "csv" ? words.exportCsv : words.exportJson;
  const save = (): void => {
    const { text: content, type } = fileOf(answer, format);
    saveBlob(new Blob([content], { type }), `rows-${new Date().toISOString().slice(0, 10)}.${format}`);
  };
  return (
    <Action
      icon={IconDownload}
      label={label}
      aria-label={words.exportOf(label)}
      size="compact-xs"
      disabled={answer.rows.length === 0}
      onClick={save}
    />
  );
}

/** The place of the rows before a statement has run. */
export function NoResult() {
  return <EmptyState icon={IconTerminal2} title={words.noResult} body={words.noResultBody} />;
}

/** A table as wide as its columns, which scrolls in the panel. */
function Rows({ answer: { columns, rows } }: { answer: SqlAnswer }) {
  if (rows.length === 0) return <EmptyState icon={IconTable} title={words.noRows} />;
  return (
    <table className={classes["rows"]} aria-label={words.rows}>
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col" data-is-number={isNumber(rows, name) || undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other name, and the rows of an answer keep their places.
          <tr key={at}>
            {columns.map((name) => (
              <td key={name} data-is-number={typeof row[name] === "number" || undefined}>
                <Cell value={row[name]} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isNumber(rows: SqlAnswer["rows"], name: string): boolean {
  return rows.some((row) => typeof row[name] === "number");
}

function Plan({ plan }: { plan: SqlAnswer["plan"] }) {
  if (plan.length === 0) return <EmptyState icon={IconTable} title={words.noPlan} />;
  return (
    <ol className={`plain ${classes["plan"]}`} aria-label={words.plan}>
      {planLines(plan).map(({ id, depth, detail, isFull }) => (
        <li key={id} style={{ paddingInlineStart: `${depth * 20}px` }}>
          <span className="mono">{detail}</span>
          {isFull && (
            <Mark tone="warn" icon={IconAlertTriangle}>
              {words.full}
            </Mark>
          )}
        </li>
      ))}
    </ol>
  );
}
