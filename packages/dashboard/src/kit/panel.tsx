/** A part of a page on a ground of its own, with a heading. */
import { Group, Paper, type PaperProps, Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./panel.module.css";

export function Panel(props: { title?: string; actions?: ReactNode; children: ReactNode } & PaperProps) {
  const { title, actions, children, ...paper } = props;
  return (
    <Paper component="section" radius="lg" className={classes["panel"]} {...paper}>
      {title !== undefined && (
        <Group justify="space-between" className={classes["head"]} wrap="nowrap">
          <Title order={2} size="h5">
            {title}
          </Title>
          {actions}
        </Group>
      )}
      {children}
    </Paper>
  );
}
