/** The frame of a control for files. The user drops files on the frame, or chooses files inside. */
import { Input } from "@mantine/core";
import type { ReactNode } from "react";
import { FileDrop } from "../../../../kit/index.ts";
import type { ControlProps } from "./control.ts";
import classes from "./controls.module.css";

interface DropFrameProps extends Pick<ControlProps, "label" | "error" | "size"> {
  isEmpty: boolean;
  onFiles: (files: File[]) => void;
  children: ReactNode;
}

export function DropFrame({ label, error, size, isEmpty, onFiles, children }: DropFrameProps) {
  return (
    <Input.Wrapper
      label={label}
      error={error}
      size={size}
      labelElement="div"
      classNames={{ label: classes["label"] ?? "" }}
    >
      <FileDrop
        onFiles={onFiles}
        className={classes["drop"] ?? ""}
        data-empty={isEmpty || undefined}
        data-invalid={error !== undefined || undefined}
      >
        {children}
      </FileDrop>
    </Input.Wrapper>
  );
}
