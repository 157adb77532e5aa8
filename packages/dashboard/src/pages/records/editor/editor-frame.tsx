/** The head of the drawer, and what stands in it while the record is read. */
import { Drawer, Group, Skeleton, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";

export function EditorFrame({ title, head, children }: { title: string; head?: ReactNode; children: ReactNode }) {
  return (
    <div className={classes["frame"]}>
      <div className={classes["head"]}>
        <Group justify="space-between" wrap="nowrap" gap="sm">
          <Drawer.Title className={classes["title"]}>{title}</Drawer.Title>
          <Drawer.CloseButton aria-label={text.common.close} />
        </Group>
        {head}
      </div>
      {children}
    </div>
  );
}

export function FormSkeleton() {
  return (
    <Stack gap="lg" role="status" aria-label={text.common.loading}>
      {["a", "b", "c", "d", "e", "f"].map((row) => (
        <Stack gap={6} key={row}>
          <Skeleton height={12} width={120} />
          <Skeleton height={36} />
        </Stack>
      ))}
    </Stack>
  );
}
