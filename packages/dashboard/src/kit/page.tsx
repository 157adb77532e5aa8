/** The frame of a page: its title, its actions, its filters, its content and the panels of the content. */
import { Group, Paper, type PaperProps, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle, useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import classes from "./page.module.css";

interface PageProps {
  title: string;
  /** Before the title: the way back to a list that the screen has no room for. */
  back?: ReactNode;
  /** Beside the title: a count, a badge. */
  note?: ReactNode;
  /** Buttons at the right. */
  actions?: ReactNode;
  children: ReactNode;
}

function Head({ title, back, note, actions }: Omit<PageProps, "children">) {
  useDocumentTitle(`${title} · Socle`);
  return (
    <Group justify="space-between" gap="sm" mih={36} wrap="wrap">
      <Group gap="sm" wrap="nowrap" miw={0}>
        {back}
        <Title order={1} size="h3" className={`cut ${classes["title"]}`} tabIndex={-1}>
          {title}
        </Title>
        {note !== undefined && (
          <Text c="dimmed" size="sm" component="div" className="numbers">
            {note}
          </Text>
        )}
      </Group>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

/** A page that scrolls as a whole. */
export function Page({ children, ...head }: PageProps) {
  return (
    <Stack gap="md" className={classes["page"]}>
      <Head {...head} />
      {children}
    </Stack>
  );
}

/** A page that fills the window: its parts scroll by themselves, as a grid or a log does. */
export function FilledPage({ children, ...head }: PageProps) {
  return (
    <Stack gap={0} className={classes["filled"]}>
      <div className={classes["filledHead"]}>
        <Head {...head} />
      </div>
      {children}
    </Stack>
  );
}

/** Whether the window is as narrow as a phone: a drawer then covers the page, and a row of a table has two lines. */
export function useIsNarrow(): boolean {
  return useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
}

/** The row of filters below the head of a filled page. */
export function Toolbar({ label, children }: { label: string; children: ReactNode }) {
  return (
    <search className={classes["toolbar"]} aria-label={label}>
      {children}
    </search>
  );
}

/** A part of a page on a ground of its own, with a heading. */
export function Panel(props: { title?: string; actions?: ReactNode; children: ReactNode } & PaperProps) {
  const { title, actions, children, ...paper } = props;
  return (
    <Paper component="section" radius="lg" className={classes["panel"]} {...paper}>
      {title !== undefined && (
        <Group justify="space-between" px="md" pt="sm" mih={36} wrap="nowrap">
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
