/** Places on which files are dropped: an area of a page, and the whole page. */
import { Box, type BoxProps, LoadingOverlay } from "@mantine/core";
import {
  type ComponentProps,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import classes from "./file-drop.module.css";

interface FileDropProps extends BoxProps {
  onFiles: (files: File[]) => void;
  /** The name of the file chooser that the area opens as a button; without a name, files can only be dropped. */
  label?: string;
  isLoading?: boolean;
  children: ReactNode;
}

function carriesFiles({ dataTransfer }: { dataTransfer: DataTransfer | null }): boolean {
  return dataTransfer?.types.includes("Files") === true;
}

/** The events of an element that takes files, and whether files hang over the element. */
function useFileTarget(onFiles: FileDropProps["onFiles"]) {
  const [isOver, setOver] = useState(false);
  const hang = (event: DragEvent): void => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    setOver(true);
  };
  const events = {
    onDragEnter: hang,
    onDragOver: hang,
    onDragLeave: (event: DragEvent): void => {
      const into = event.relatedTarget;
      if (!(into instanceof Node && event.currentTarget.contains(into))) setOver(false);
    },
    onDrop: (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      setOver(false);
      onFiles([...event.dataTransfer.files]);
    },
  };
  return { isOver, events };
}

/** An area that takes files. */
export function FileDrop({ onFiles, label, isLoading = false, children, className, ...box }: FileDropProps) {
  const { isOver, events } = useFileTarget((files) => {
    if (!isLoading) onFiles(files);
  });
  const input = useRef<HTMLInputElement>(null);
  const choose = (): void => input.current?.click();
  const button: ComponentProps<"div"> = {
    role: "button",
    tabIndex: 0,
    // The words inside name the button, and say more than the label of the chooser (WCAG 2.2, 2.5.3).
    onClick: choose,
    onKeyDown: (event: KeyboardEvent): void => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    },
  };
  return (
    <>
      <Box
        {...box}
        {...events}
        {...(label === undefined ? {} : button)}
        className={`${classes["area"]} ${className ?? ""}`}
        data-over={isOver || undefined}
        data-button={label !== undefined || undefined}
      >
        <LoadingOverlay visible={isLoading} />
        {children}
      </Box>
      {label !== undefined && (
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={label}
          onChange={({ currentTarget }) => {
            onFiles([...(currentTarget.files ?? [])]);
            currentTarget.value = "";
          }}
        />
      )}
    </>
  );
}

/** Covers the page while a person drags files over the window, and takes the dropped files. */
export function PageDrop({ onFiles, children }: Pick<FileDropProps, "onFiles" | "children">) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const show = (event: globalThis.DragEvent): void => {
      if (carriesFiles(event)) setShown(true);
    };
    document.addEventListener("dragenter", show);
    return () => document.removeEventListener("dragenter", show);
  }, []);
  const { events } = useFileTarget((files) => {
    setShown(false);
    onFiles(files);
  });
  if (!isShown) return null;
  return (
    <Box className={classes["page"] ?? ""} {...events} onDragLeave={() => setShown(false)}>
      {children}
    </Box>
  );
}
