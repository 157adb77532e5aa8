/** The control for `file`: uploads a file or picks a stored file, and shows the chosen file. */
import { FileButton, Group, Input, SegmentedControl } from "@mantine/core";
import { MAX_FILE_SIZE, type StoredFile, VISIBILITIES, type Visibility } from "@socle/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { confirmDanger, Dim, formatBytes, notifyFailure } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { useUploadVisibility } from "../upload-visibility.ts";
import { ChosenFile, fileQuery } from "./chosen-file.tsx";
import { ClearButton } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";
import { DropFrame } from "./drop-frame.tsx";
import { Picker } from "./picker.tsx";
import { UploadButton } from "./upload-button.tsx";
import { searchFiles, UploadState, useUpload } from "./uploads.tsx";

export function FileControl(props: ControlProps) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const queryClient = useQueryClient();
  const id = typeof value === "string" ? value : null;
  const normal = useUploadVisibility();
  const [chosen, setChosen] = useState<Visibility | null>(null);
  const stored = useQuery({ ...fileQuery(id ?? ""), enabled: id !== null });
  // A file that replaces a file gets the same visibility.
  const present = id === null ? undefined : stored.data;
  const visibility = present?.visibility ?? chosen ?? normal.visibility;
  const { upload, start, cancel, refuse } = useUpload(visibility, (file) => {
    queryClient.setQueryData(fileQuery(file.id).queryKey, file);
    onChange(file.id);
  });
  const change = useMutation({
    mutationFn: ({ file, to }: { file: StoredFile; to: Visibility }) => client.admin.setVisibility(file.id, to),
    onSuccess: (changed) => {
      queryClient.setQueryData(fileQuery(changed.id).queryKey, changed);
      void queryClient.invalidateQueries({ queryKey: ["storage", "list"] });
      void queryClient.invalidateQueries({ queryKey: ["files", "one", changed.id] });
    },
    onError: notifyFailure,
  });
  const choose = (next: string): void => {
    const to = VISIBILITIES.find((each) => each === next);
    if (to === undefined || to === visibility) return;
    if (present === undefined) setChosen(to);
    else if (to !== "public") change.mutate({ file: present, to });
    else
      confirmDanger({
        title: text.storage.publishTitle(present.filename),
        body: text.storage.publishBody,
        action: text.storage.publishAction,
        onConfirm: () => change.mutateAsync({ file: present, to }),
      });
  };
  const picker = (
    <Picker
      name={isCompact(props) ? field.name : `${text.editor.chooseFile}: ${field.name}`}
      chosen={isCompact(props) ? id && <ChosenFile id={id} isCompact /> : text.editor.chooseFile}
      size="xs"
      autoFocus={autoFocus}
      isInvalid={isCompact(props) && error !== undefined}
      isRequired={field.required === true}
      queryKey={["files"]}
      search={searchFiles}
      onPick={({ id: picked }) => onChange(picked)}
      rightSection={
        isCompact(props) && id !== null && field.required !== true ? (
          <ClearButton field={field} onChange={onChange} />
        ) : null
      }
    />
  );
  if (isCompact(props)) return <Input.Wrapper error={error}>{picker}</Input.Wrapper>;

  const take = ([file, ...others]: File[]): void => {
    if (file === undefined) return;
    if (others.length > 0) refuse(text.editor.oneFile);
    else if (file.size > MAX_FILE_SIZE) refuse(text.editor.fileTooLarge(file.name, formatBytes(file.size)));
    else void start(file);
  };
  const state = <UploadState upload={upload} onCancel={cancel} onRetry={start} />;
  return (
    <DropFrame label={label} error={error} size={size} isEmpty={id === null} onFiles={take}>
      {id !== null && (
        <ChosenFile id={id} actions={field.required !== true && <ClearButton field={field} onChange={onChange} />} />
      )}
      {upload.phase === "sending" ? (
        state
      ) : (
        <>
          <Group gap="xs" className={classes["uploadBar"]}>
            <FileButton onChange={(file) => file !== null && void start(file)}>
              {({ onClick }) => (
                <UploadButton
                  onClick={onClick}
                  label={id === null ? text.editor.upload : text.editor.replace}
                  name={field.name}
                />
              )}
            </FileButton>
            <Dim>{present === undefined ? text.editor.uploadAs : text.editor.fileIs}</Dim>
            <SegmentedControl
              size="xs"
              aria-label={`${present === undefined ? text.editor.visibility : text.editor.fileVisibility}: ${field.name}`}
              value={visibility}
              onChange={choose}
              disabled={change.isPending}
              data={VISIBILITIES.map((each) => ({ value: each, label: text.storage.visibilities[each] }))}
            />
            {id === null && <Dim>{text.editor.dropHere}</Dim>}
          </Group>
          <Dim mb={8}>
            {text.storage.visibilityHints[visibility]} {visibility === normal.visibility && normal.reason}
          </Dim>
          {picker}
          {state}
        </>
      )}
    </DropFrame>
  );
}
