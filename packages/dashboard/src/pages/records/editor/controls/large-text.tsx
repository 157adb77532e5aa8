/** A text that is too large to be edited without a word: its beginning, a download, and the choice to edit it anyway. */
import { Button, Group, Input, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { formatBytes, saveBlob } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import type { ControlProps } from "./control.ts";
import classes from "./controls.module.css";

const largeFrom = 256 * 1_024;
const shown = 4_000;

export function isLargeText(content: string): boolean {
  return content.length > largeFrom;
}

interface LargeTextProps extends Pick<ControlProps, "field" | "error"> {
  content: string;
  label: ReactNode | undefined;
  onEdit: () => void;
}

export function LargeText({ content, field, label, error, onEdit }: LargeTextProps) {
  const download = (): void => saveBlob(new Blob([content], { type: "text/plain" }), `${field.name}.txt`);
  return (
    <Input.Wrapper label={label} error={error} labelElement="div" classNames={{ label: classes["label"] ?? "" }}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard. */}
      <section className={classes["largeText"]} tabIndex={0} aria-label={field.name}>
        {content.slice(0, shown)}…
      </section>
      <Group gap="xs" mt={6}>
        <Text size="xs" c="dimmed" flex={1}>
          {text.editor.largeText(formatBytes(new Blob([content]).size))}
        </Text>
        <Button size="compact-xs" variant="default" leftSection={<IconDownload size={13} />} onClick={download}>
          {text.editor.download}
        </Button>
        <Button size="compact-xs" variant="default" onClick={onEdit}>
          {text.editor.editAnyway}
        </Button>
      </Group>
    </Input.Wrapper>
  );
}
