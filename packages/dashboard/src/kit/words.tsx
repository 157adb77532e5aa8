/** Sentences of two kinds that stand everywhere: a quiet note, and an error beside its control. */
import { Text, type TextProps } from "@mantine/core";
import type { ComponentPropsWithoutRef } from "react";

type Props = TextProps & Omit<ComponentPropsWithoutRef<"p">, keyof TextProps>;

export function Dim(props: Props) {
  return <Text size="xs" c="dimmed" {...props} />;
}

export function Complaint(props: Props) {
  return <Text size="sm" c="var(--mantine-color-error)" role="alert" {...props} />;
}
