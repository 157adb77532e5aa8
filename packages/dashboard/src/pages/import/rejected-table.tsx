/** The rows that were not stored, with the field and the reason. */
import { Group, Pagination, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";
import { text } from "../../texts/index.ts";
import classes from "./import.module.css";
import type { RejectedRow } from "./run/import-run.ts";

const pageSize = 50;

export function RejectedTable({ rejected }: { rejected: readonly RejectedRow[] }) {
  const [page, setPage] = useState(1);
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const shown = rejected.slice((page - 1) * pageSize, page * pageSize);
  return (
    <>
      <div className={classes["frame"]}>
        <Table verticalSpacing={6} horizontalSpacing={isNarrow ? "xs" : "md"} className={classes["rejected"]}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th className={classes["rejectedRow"]}>{text.import.row}</Table.Th>
              <Table.Th className={classes["rejectedField"]}>{text.import.rejectedField}</Table.Th>
              <Table.Th>{text.import.rejectedReason}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.flatMap(({ row, problems }) =>
              problems.map(({ field, message }, i) => (
                <Table.Tr key={`${row.number} ${field} ${message}`}>
                  <Table.Td className="numbers">{i === 0 ? row.number : ""}</Table.Td>
                  <Table.Td>
                    {field ?? (
                      <Text span inherit c="dimmed">
                        {text.import.wholeRow}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td className={classes["wrap"]}>{message}</Table.Td>
                </Table.Tr>
              )),
            )}
          </Table.Tbody>
        </Table>
      </div>
      {rejected.length > pageSize && (
        <Group justify="center" p="sm">
          <Pagination
            size="sm"
            total={Math.ceil(rejected.length / pageSize)}
            value={page}
            onChange={setPage}
            aria-label={text.import.pages}
            getControlProps={(control) => ({ "aria-label": control })}
            getItemProps={(item) => ({ "aria-label": String(item) })}
          />
        </Group>
      )}
    </>
  );
}
