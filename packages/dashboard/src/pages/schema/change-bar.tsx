/** The bar below a form: the state of the draft in a few words, and the deeds that end it. */
import { Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "../../texts/index.ts";
import classes from "./schema.module.css";

export function ChangeBar({ summary, problems, children }: { summary: string; problems: number; children: ReactNode }) {
  return (
    <div className={classes["bar"]}>
      <Text size="sm" c="dimmed" role="status">
        {summary}
        {problems > 0 && (
          <Text span inherit c="var(--mantine-color-error)">
            {" · "}
            {text.schema.problemCount(problems)}
          </Text>
        )}
      </Text>
      <Group gap="xs">{children}</Group>
    </div>
  );
}
