/** The third step: the first rows in their stored form, with each problem at its cell. */
import { Badge, ScrollArea, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { IconAlertCircle } from "../../icons/index.ts";
import { Action, Dim, Panel, QueryView } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { checkWords, useFileCheck } from "./check-file.ts";
import type { LoadedSource } from "./file-step.tsx";
import classes from "./import.module.css";
import { cellText, isBad, type PreviewCell, type PreviewRow, previewOf } from "./preview.ts";
import { findRecord, Lookup } from "./run/lookup.ts";
import type { ImportPlan } from "./run/prepare.ts";
import type { SourceRow } from "./source/source.ts";

export function PreviewStep({ source, plan }: { source: LoadedSource; plan: ImportPlan }) {
  const lookup = useRef(new Lookup(findRecord));
  const preview = (rows: readonly SourceRow[]) => ({
    queryKey: ["import preview", source.id, source.file.name, plan, rows.map(({ number }) => number).join()],
    queryFn: () => previewOf(rows, plan, (key) => lookup.current.resolve(key)),
    placeholderData: keepPreviousData<PreviewRow[] | undefined>,
    refetchOnWindowFocus: false,
    gcTime: 0,
  });
  const query = useQuery(preview(source.sample));
  const check = useFileCheck(source, plan);
  // Rows with problems after the sample, in their stored form.
  const last = source.sample.at(-1)?.number ?? 0;
  const behind = check?.first.filter(({ number }) => number > last) ?? [];
  const badRows = useQuery({ ...preview(behind), enabled: behind.length > 0 });
  const bad = Math.max(check?.bad ?? 0, query.data?.filter(isBad).length ?? 0);
  const frame = useRef<HTMLDivElement>(null);
  const jump = (): void => {
    const row = frame.current?.querySelector<HTMLElement>("[data-is-bad]");
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  };
  return (
    <Panel
      title={text.import.preview}
      actions={
        check !== null &&
        (bad > 0 ? (
          <Action
            label={checkWords({ ...check, bad })}
            size="compact-xs"
            variant="light"
            color="red"
            className="numbers"
            onClick={jump}
          />
        ) : (
          <Badge variant="light" tt="none" radius="sm" className="numbers">
            {checkWords(check)}
          </Badge>
        ))
      }
    >
      <Dim px="md" pb="xs">
        {text.import.previewNote(source.sample.length)}
      </Dim>
      <div ref={frame}>
        <QueryView query={query}>
          {(rows) => <PreviewTable rows={[...rows, ...(behind.length > 0 ? (badRows.data ?? []) : [])]} plan={plan} />}
        </QueryView>
      </div>
    </Panel>
  );
}

function PreviewTable({ rows, plan }: { rows: readonly PreviewRow[]; plan: ImportPlan }) {
  const fields = plan.mappings.filter(({ source }) => source.kind !== "skip").map(({ field }) => field);
  return (
    <ScrollArea.Autosize
      mah={440}
      type="auto"
      className={classes["previewFrame"]}
      viewportProps={{ tabIndex: 0, role: "region", "aria-label": text.import.previewTable }}
    >
      <Table stickyHeader verticalSpacing={6} horizontalSpacing="sm" className={classes["preview"]}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className="numbers">{text.import.row}</Table.Th>
            {fields.map(({ name }) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.number} data-is-bad={isBad(row) || undefined} tabIndex={isBad(row) ? -1 : undefined}>
              <Table.Th scope="row" fw={400} className="numbers noBreak quiet">
                {row.number}
                {isBad(row) && (
                  <IconAlertCircle size={13} className={classes["rowMark"]} aria-label={text.import.hasProblem} />
                )}
                {row.problem !== null && row.cells.length > 0 && <Problem message={row.problem} />}
              </Table.Th>
              {row.cells.length === 0 ? (
                <Table.Td colSpan={fields.length} className={classes["bad"]}>
                  <Problem message={row.problem ?? ""} />
                </Table.Td>
              ) : (
                row.cells.map((cell, i) => (
                  <Table.Td key={fields[i]?.name} className={cell.problem === null ? undefined : classes["bad"]}>
                    <Value cell={cell} />
                    {cell.problem !== null && <Problem message={cell.problem} />}
                  </Table.Td>
                ))
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}

function Value({ cell }: { cell: PreviewCell }) {
  const { value, isDefault, problem } = cell;
  const quiet = (words: string) => (
    <Text span inherit c="dimmed" fs="italic">
      {words}
    </Text>
  );
  if (value === undefined && isDefault && problem === null) return quiet(text.import.defaultValue);
  if (value === undefined) {
    return problem === null ? (
      quiet(text.import.absentValue)
    ) : (
      <div className={`cut ${classes["value"]}`}>{cellText(cell.cell)}</div>
    );
  }
  if (value === null) return quiet(text.import.nullValue);
  if (value === "") return quiet(text.import.emptyValue);
  return (
    <div className={`cut ${classes["value"]} ${typeof value === "number" ? "numbers" : ""}`}>{cellText(value)}</div>
  );
}

function Problem({ message }: { message: string }) {
  return (
    <div className={classes["problem"]}>
      <IconAlertCircle size={13} aria-hidden />
      <span>{message}</span>
    </div>
  );
}
