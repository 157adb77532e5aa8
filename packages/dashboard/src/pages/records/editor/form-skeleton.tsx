/** The place of the form while its record, or its code, is on the way. */
import { Skeleton, Stack } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";

const rows = ["a", "b", "c", "d", "e", "f"];

export function FormSkeleton() {
  return (
    <div className={classes["body"]}>
      <Stack gap="lg" role="status" aria-label={text.common.loading}>
        {rows.map((row) => (
          <Stack gap={6} key={row}>
            <Skeleton height={12} width={120} />
            <Skeleton height={36} />
          </Stack>
        ))}
      </Stack>
    </div>
  );
}
