/** New recovery codes, which are shown once: to copy, to download, to print. */
import { Group, Stack, Title } from "@mantine/core";
import { useEffect, useRef } from "react";
import { IconDownload } from "../../icons/index.ts";
import { Action, CopyAction, LeaveGuard, Notice, saveBlob } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./account.module.css";

export function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The form or the question before is gone with the focus.
  useEffect(() => heading.current?.focus(), []);
  const content = `${codes.join("\n")}\n`;
  const download = (): void =>
    saveBlob(new Blob([content], { type: "text/plain" }), text.account.codesFile(location.host));
  return (
    <Stack px="md" gap="sm">
      <LeaveGuard
        isActive
        title={text.account.leaveTitle}
        body={text.account.leaveBody}
        action={text.account.leaveAction}
      />
      <Title order={3} size="h6" tabIndex={-1} className={classes["heading"] ?? ""} ref={heading}>
        {text.account.codesTitle}
      </Title>
      <Notice tone="warn">{text.account.codesKeep}</Notice>
      <ul className={`plain mono ${classes["codes"]}`}>
        {codes.map((code) => (
          <li key={code} className="breaks">
            {code}
          </li>
        ))}
      </ul>
      <Group gap="xs">
        <CopyAction value={content} label={text.account.copyCodes} />
        <Action icon={IconDownload} label={text.account.download} onClick={download} />
        <Action label={text.account.saved} variant="filled" ml="auto" onClick={onClose} />
      </Group>
    </Stack>
  );
}
