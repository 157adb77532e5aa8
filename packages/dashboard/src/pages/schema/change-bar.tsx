/** The bar below a form: the state of the draft in a few words, and the buttons that apply or discard the draft. */
import { Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Dim } from "../../kit/words.tsx";
import { text } from "../../texts/index.ts";
import classes from "./schema.module.css";

export function ChangeBar({ summary, problems, children }: { summary: string; problems: number; children: ReactNode }) {
  return (
    <Group className={classes["bar"]} justify="space-between" gap="xs" px={{ base: 12, sm: 16 }} py={10}>
      <Dim size="sm" role="status">
        {summary}
        {problems > 0 && (
          <Text span inherit c="var(--mantine-color-error)">
            {" · "}
            {text.schema.problemCount(problems)}
          </Text>
        )}
      </Dim>
      <Group gap="xs">{children}</Group>
    </Group>
  );
}
