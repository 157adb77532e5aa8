/** The control for a multiple `file`: uploads files in sequence or picks stored files, and keeps their order. */
import { FileButton, Group, SegmentedControl } from "@mantine/core";
import { MAX_FILE_SIZE, VISIBILITIES, type Visibility } from "@socle/protocol";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Dim, formatBytes } from "../../../../kit/index.ts";
import { text } from "../../../../texts/index.ts";
import { useUploadVisibility } from "../upload-visibility.ts";
import { ChosenFile, fileQuery } from "./chosen-file.tsx";
import type { ControlProps } from "./control.ts";
import classes from "./controls.module.css";
import { DropFrame } from "./drop-frame.tsx";
import { ItemList } from "./item-list.tsx";
import { hasRoom, itemsOf, withItem } from "./items.ts";
import { Picker } from "./picker.tsx";
import { UploadButton } from "./upload-button.tsx";
import { searchFiles, UploadState, useUpload } from "./uploads.tsx";

export function FilesControl({ field, value, onChange, error, label, size, autoFocus }: ControlProps) {
  const queryClient = useQueryClient();
  const items = itemsOf(value);
  // An upload ends later: the list of files may have changed meanwhile.
  const latest = useRef(items);
  latest.current = items;
  const add = (id: string): void => {
    latest.current = withItem(latest.current, id);
    onChange([...latest.current]);
  };
  const normal = useUploadVisibility();
  const [visibility, setVisibility] = useState<Visibility>(normal.visibility);
  const { upload, start, cancel, refuse } = useUpload(visibility, (file) => {
    queryClient.setQueryData(fileQuery(file.id).queryKey, file);
    add(file.id);
  });
  const waiting = useRef<File[]>([]);
  /** Uploads the waiting files. A failed file and the files behind that file wait for the next try. */
  const goOn = async (): Promise<void> => {
    for (let [file] = waiting.current; file !== undefined; [file] = waiting.current) {
      if (!(await start(file))) return;
      waiting.current.shift();
    }
  };
  const send = (files: readonly File[]): void => {
    const tooLarge = files.find((file) => file.size > MAX_FILE_SIZE);
    if (tooLarge !== undefined) {
      refuse(text.editor.fileTooLarge(tooLarge.name, formatBytes(tooLarge.size)));
      return;
    }
    waiting.current.push(...files);
    if (upload.phase !== "sending") void goOn();
  };
  const stop = (): void => {
    waiting.current = [];
    cancel();
  };
  return (
    <DropFrame label={label} error={error} size={size} isEmpty={items.length === 0} onFiles={send}>
      <ItemList
        name={field.name}
        items={items}
        onChange={(next) => onChange([...next])}
        content={(id) => <ChosenFile id={id} />}
      />
      {upload.phase !== "sending" && hasRoom(field, items) && (
        <>
          <Group gap="xs" className={classes["uploadBar"]}>
            <FileButton multiple onChange={send}>
              {({ onClick }) => <UploadButton onClick={onClick} label={text.editor.uploadFiles} name={field.name} />}
            </FileButton>
            <Dim>{text.editor.uploadsAs}</Dim>
            <SegmentedControl
              size="xs"
              aria-label={`${text.editor.visibility}: ${field.name}`}
              value={visibility}
              onChange={setVisibility}
              data={VISIBILITIES.map((each) => ({ value: each, label: text.storage.visibilities[each] }))}
            />
            <Dim>{text.editor.dropFilesHere}</Dim>
          </Group>
          <Picker
            name={`${text.editor.chooseFile}: ${field.name}`}
            chosen={null}
            size="xs"
            autoFocus={autoFocus}
            isInvalid={error !== undefined}
            isRequired={field.required === true}
            emptyText={text.editor.chooseFile}
            queryKey={["files"]}
            search={searchFiles}
            onPick={({ id }) => add(id)}
          />
        </>
      )}
      <UploadState upload={upload} onCancel={stop} onRetry={() => void goOn()} />
    </DropFrame>
  );
}
