/** The frame of a control for files: they are dropped on it, and chosen inside. */
import { Input } from "@mantine/core";
import { Dropzone, type DropzoneProps } from "@mantine/dropzone";
import "@mantine/dropzone/styles.css";
import { MAX_FILE_SIZE } from "@socle/protocol";
import type { ReactNode } from "react";
import type { ControlProps } from "./control.ts";
import classes from "./controls.module.css";

interface DropFrameProps extends Pick<ControlProps, "label" | "error" | "size"> {
  isEmpty: boolean;
  multiple: boolean;
  onDrop: DropzoneProps["onDrop"];
  onReject: NonNullable<DropzoneProps["onReject"]>;
  children: ReactNode;
}

export function DropFrame({ label, error, size, isEmpty, children, ...drop }: DropFrameProps) {
  return (
    <Input.Wrapper
      label={label}
      error={error}
      size={size}
      labelElement="div"
      classNames={{ label: classes["label"] ?? "" }}
    >
      <Dropzone
        {...drop}
        className={classes["drop"] ?? ""}
        maxSize={MAX_FILE_SIZE}
        activateOnClick={false}
        activateOnKeyboard={false}
        inputProps={{ "aria-hidden": true, tabIndex: -1 }}
        enablePointerEvents
        data-empty={isEmpty || undefined}
        data-invalid={error !== undefined || undefined}
      >
        {children}
      </Dropzone>
    </Input.Wrapper>
  );
}
