/** The control for `file`: uploads files or picks stored files, and shows the chosen files. */
import { Button, FileButton, Group } from "@mantine/core";
import type { Visibility } from "@socle/protocol";
import { IconUpload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useContext, useRef, useState } from "react";
import { Dim, FileDrop, formatBytes } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { fileQuery } from "../../../storage/queries.ts";
import { isId } from "../naming.ts";
import { UploadVisibilityContext } from "../upload-visibility.ts";
import { ChosenFile } from "./chosen-file.tsx";
import { ClearButton, ControlFrame, type ControlProps } from "./control.tsx";
import classes from "./controls.module.css";
import { ItemList } from "./item-list.tsx";
import { hasRoom, itemsOf, withItem } from "./items.ts";
import { PICKER_LIMIT, Picker, type PickerItem } from "./picker.tsx";
import { UploadState, type Uploads, useUploads } from "./uploads.tsx";
import { StoredVisibility, VisibilityChoice } from "./visibility-choice.tsx";

export function FileControl(props: ControlProps) {
  return props.field.multiple === true ? <SeveralFiles {...props} /> : <OneFile {...props} />;
}

function OneFile(props: ControlProps) {
  const { field, value, onChange } = props;
  const id = typeof value === "string" ? value : null;
  const normal = useContext(UploadVisibilityContext);
  const [chosen, setChosen] = useState<Visibility>(normal.visibility);
  const { data } = useQuery({ ...fileQuery(id ?? ""), enabled: id !== null });
  // A file that replaces a file gets the same visibility.
  const present = id === null ? undefined : data;
  const visibility = present?.visibility ?? chosen;
  const uploads = useUploads(visibility, (file) => onChange(file.id));
  const take = (files: readonly File[]): void => {
    if (files.length === 1) {
      uploads.cancel();
      uploads.send(files);
    } else uploads.refuse(text.editor.oneFile);
  };
  return (
    <FileFrame
      control={props}
      uploads={uploads}
      shown={
        id !== null && <ChosenFile id={id} actions={<ClearButton field={field} value={value} onChange={onChange} />} />
      }
      onFiles={take}
      onPick={onChange}
    >
      <Group gap="xs">
        <FileButton onChange={(file) => file !== null && take([file])}>
          {({ onClick }) => (
            <UploadButton
              onClick={onClick}
              label={id === null ? text.editor.upload : text.editor.replace}
              name={field.name}
            />
          )}
        </FileButton>
        <Dim>{present === undefined ? text.editor.uploadAs : text.editor.fileIs}</Dim>
        {present === undefined ? (
          <VisibilityChoice
            label={`${text.editor.visibility}: ${field.name}`}
            value={visibility}
            onChange={setChosen}
          />
        ) : (
          <StoredVisibility file={present} label={`${text.editor.fileVisibility}: ${field.name}`} />
        )}
        {id === null && <Dim>{text.editor.dropHere}</Dim>}
      </Group>
      <Dim>
        {text.storage.visibilityHints[visibility]} {visibility === normal.visibility && normal.reason}
      </Dim>
    </FileFrame>
  );
}

/** The files of a multiple field in their order. */
function SeveralFiles(props: ControlProps) {
  const { field, value, onChange } = props;
  const items = itemsOf(value);
  // An upload ends later: the list of files may have changed meanwhile.
  const latest = useRef(items);
  latest.current = items;
  const add = (id: string): void => {
    latest.current = withItem(latest.current, id);
    onChange([...latest.current]);
  };
  const normal = useContext(UploadVisibilityContext);
  const [visibility, setVisibility] = useState<Visibility>(normal.visibility);
  const uploads = useUploads(visibility, (file) => add(file.id));
  return (
    <FileFrame
      control={props}
      uploads={uploads}
      shown={
        <ItemList
          name={field.name}
          items={items}
          onChange={(next) => onChange([...next])}
          content={(id) => <ChosenFile id={id} />}
        />
      }
      isFull={!hasRoom(field, items)}
      onFiles={uploads.send}
      onPick={add}
    >
      <Group gap="xs">
        <FileButton multiple onChange={uploads.send}>
          {({ onClick }) => <UploadButton onClick={onClick} label={text.editor.uploadFiles} name={field.name} />}
        </FileButton>
        <Dim>{text.editor.uploadsAs}</Dim>
        <VisibilityChoice
          label={`${text.editor.visibility}: ${field.name}`}
          value={visibility}
          onChange={setVisibility}
        />
        <Dim>{text.editor.dropFilesHere}</Dim>
      </Group>
    </FileFrame>
  );
}

interface FileFrameProps {
  control: ControlProps;
  uploads: Uploads;
  /** The chosen files. */
  shown: ReactNode;
  /** Whether no further file fits into the field. */
  isFull?: boolean;
  onFiles: (files: File[]) => void;
  onPick: (id: string) => void;
  /** The button of an upload and its visibility. */
  children: ReactNode;
}

/** The frame of the control. The user drops files on the frame, or chooses files inside. */
function FileFrame({ control, uploads, shown, isFull = false, onFiles, onPick, children }: FileFrameProps) {
  const { field, label, error, size, autoFocus } = control;
  return (
    <ControlFrame label={label} error={error} size={size}>
      <FileDrop onFiles={onFiles} className={classes["drop"] ?? ""} data-invalid={error !== undefined || undefined}>
        {shown}
        {uploads.upload.phase !== "sending" && !isFull && (
          <>
            {children}
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
              onPick={({ id }) => onPick(id)}
            />
          </>
        )}
        <UploadState {...uploads} />
      </FileDrop>
    </ControlFrame>
  );
}

/** @param props `label` is the text of the button, `name` is the field's name, `onClick` comes from `FileButton`. */
function UploadButton({ label, name, onClick }: { label: string; name: string; onClick: () => void }) {
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

async function searchFiles(words: string): Promise<readonly PickerItem[]> {
  const files = isId(words, "fil")
    ? [await client.admin.file(words)]
    : (await client.admin.files({ limit: PICKER_LIMIT, ...(words !== "" && { search: words }) })).items;
  return files.map(({ id, filename, size, mimeType }) => ({
    id,
    name: filename,
    note: `${formatBytes(size)} · ${mimeType}`,
  }));
}
