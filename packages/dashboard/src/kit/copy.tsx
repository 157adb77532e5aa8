/** Copying: a button beside a value, and a value that a click copies. */
import { ActionIcon, CopyButton, Tooltip, UnstyledButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { text } from "../texts/index.ts";

export function CopyAction({ value, label = text.common.copy }: { value: string; label?: string }) {
  return (
    <CopyButton value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? text.common.copied : label}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={label}>
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An id in a fixed-width font, shortened to its end: ids of the same minute begin alike. */
export function IdText({ id, length = 8 }: { id: string; length?: number }) {
  // The name contains the visible text as a word of its own: people who control the browser by voice say that text (WCAG 2.2, 2.5.3).
  const name = id.length <= length ? text.common.copyValue(id) : `${text.common.copyValue(id)}, ${id.slice(-length)}`;
  return (
    <CopyButton value={id} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? text.common.copied : text.common.copyValue(id)}>
          <UnstyledButton onClick={copy} className="mono" aria-label={name}>
            {id.length <= length ? id : `…${id.slice(-length)}`}
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  );
}
