/** A text too large for direct editing: its beginning, a download, and a button to edit the text anyway. */
import { Button, Group } from "@mantine/core";
import { IconDownload } from "../../../../icons/index.ts";
import { Action, Dim, formatBytes, saveBlob } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { ControlFrame, type ControlProps } from "./control.tsx";
import classes from "./controls.module.css";

const shown = 4_000;

interface LargeTextProps extends Pick<ControlProps, "field" | "label" | "error"> {
  content: string;
  onEdit: () => void;
}

export function LargeText({ content, field, label, error, onEdit }: LargeTextProps) {
  const [type, ending] = ["json", "vector"].includes(field.type) ? ["application/json", "json"] : ["text/plain", "txt"];
  const download = (): void => saveBlob(new Blob([content], { type }), `${field.name}.${ending}`);
  return (
    <ControlFrame label={label} error={error}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard. */}
      <section className={classes["largeText"]} tabIndex={0} aria-label={field.name}>
        {content.slice(0, shown)}…
      </section>
      <Group gap="xs" mt={6}>
        <Dim flex={1}>{text.editor.largeText(formatBytes(new Blob([content]).size))}</Dim>
        <Button size="compact-xs" variant="default" leftSection={<IconDownload size={13} />} onClick={download}>
          {text.editor.download}
        </Button>
        <Action label={text.editor.editAnyway} size="compact-xs" onClick={onEdit} />
      </Group>
    </ControlFrame>
  );
}
