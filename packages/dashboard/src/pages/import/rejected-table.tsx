/** The rows that were not stored, with the field and the reason. */
import { useState } from "react";
import { type Column, DataTable, Dim, offsetOf, Pager, pageSize } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { RejectedRow } from "./run/import-run.ts";
import type { RowProblem } from "./run/prepare.ts";

interface Row extends RowProblem {
  readonly key: string;
  /** The number of the row in the file; null below the first problem of the row. */
  readonly number: number | null;
}

const columns: Column<Row>[] = [
  { header: text.import.row, width: 88, render: ({ number }) => number },
  {
    header: text.import.rejectedField,
    width: 180,
    render: ({ field }) => field ?? <Dim size="sm">{text.import.wholeRow}</Dim>,
  },
  {
    header: text.import.rejectedReason,
    render: ({ message }) => <span style={{ whiteSpace: "normal", overflowWrap: "anywhere" }}>{message}</span>,
  },
];

function rowsOf({ row, problems }: RejectedRow): Row[] {
  return problems.map((problem, i) => ({
    ...problem,
    key: `${row.number} ${problem.field} ${problem.message}`,
    number: i === 0 ? row.number : null,
  }));
}

export function RejectedTable({ rejected }: { rejected: readonly RejectedRow[] }) {
  const [page, setPage] = useState(1);
  const from = offsetOf(page);
  const rows = rejected.slice(from, from + pageSize).flatMap(rowsOf);
  return (
    <>
      <DataTable label={text.import.rejectedTitle} columns={columns} rows={rows} rowKey={({ key }) => key} />
      <Pager page={page} total={rejected.length} onPage={(next = 1) => setPage(next)} />
    </>
  );
}
