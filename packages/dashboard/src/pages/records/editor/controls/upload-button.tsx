/** The button that opens the browser's file dialog, for a control of files. */
import { Button } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";

/** @param props `label` is the text of the button, `name` is the field's name, `onClick` comes from `FileButton`. */
export function UploadButton({ label, name, onClick }: { label: string; name: string; onClick: () => void }) {
  return (
    <Button
      onClick={onClick}
      size="compact-xs"
      variant="default"
      leftSection={<IconUpload size={13} />}
      aria-label={`${label}: ${name}`}
    >
      {label}
    </Button>
  );
}
