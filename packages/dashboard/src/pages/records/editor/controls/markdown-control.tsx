/** The control for a text with the format Markdown: the typed text or its preview. A record that has a text opens with the preview. */
import { SegmentedControl } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { choicesOf, Markdown } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { ControlFrame, type ControlProps } from "./control.tsx";

const words = text.markdown;

/** @param children the control of the typed text. */
export function MarkdownControl({ field, value, label, error, children }: ControlProps & { children: ReactNode }) {
  const content = typeof value === "string" ? value : "";
  const [mode, setMode] = useState<keyof typeof words.modes>(content === "" ? "write" : "preview");
  // A refused text is shown with the reason.
  useEffect(() => {
    if (error !== undefined) setMode("write");
  }, [error]);
  return (
    <ControlFrame label={label}>
      <SegmentedControl
        size="xs"
        mb={6}
        aria-label={words.mode(field.name)}
        data={choicesOf(words.modes)}
        value={mode}
        onChange={setMode}
      />
      {mode === "preview" ? <Markdown value={content} label={words.preview(field.name)} /> : children}
    </ControlFrame>
  );
}
