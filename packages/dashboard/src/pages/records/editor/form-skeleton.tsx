/** The outline of the form while the record or the code loads. */
import { Skeleton, Stack } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";

const rows = ["a", "b", "c", "d", "e", "f"];

export function FormSkeleton() {
  return (
    // The outline does not scroll: it has nothing that a keyboard could reach.
    <div className={classes["body"]} style={{ overflow: "hidden" }} aria-busy="true">
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
