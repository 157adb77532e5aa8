/** Sentences that stand everywhere: a quiet note, an error beside its control, a text with names between backticks. */
import { Text, type TextProps } from "@mantine/core";
import { type ComponentPropsWithoutRef, Fragment } from "react";

type Props = TextProps & Omit<ComponentPropsWithoutRef<"p">, keyof TextProps>;

export function Dim(props: Props) {
  return <Text size="xs" c="dimmed" {...props} />;
}

export function Complaint(props: Props) {
  return <Text size="sm" c="var(--mantine-color-error)" role="alert" {...props} />;
}

export function CodeText({ text }: { text: string }) {
  return text.split("`").map((part, i) =>
    i % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places.
      <span key={i} className="mono">
        {part}
      </span>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places.
      <Fragment key={i}>{part}</Fragment>
    ),
  );
}
