/** The control for `file`: uploads one, or picks one that is stored, and shows which it is. */
import { Alert, Button, FileButton, Group, Input, Progress, SegmentedControl, Text } from "@mantine/core";
import { Dropzone } from "@mantine/dropzone";
import "@mantine/dropzone/styles.css";
import { MAX_FILE_SIZE, type StoredFile, VISIBILITIES, type Visibility } from "@socle/protocol";
import { IconUpload } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { confirmDanger, formatBytes, messageOf, notifyFailure } from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { text } from "../../../../texts/index.ts";
import { isId } from "../naming.ts";
import { useUploadVisibility } from "../upload-visibility.ts";
import { ChosenFile, fileQuery } from "./chosen-file.tsx";
import { ClearButton } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";
import { PICKER_LIMIT, Picker, type PickerItem } from "./picker.tsx";

type Upload =
  | { readonly phase: "none" }
  | { readonly phase: "sending"; readonly file: File; readonly part: number }
  | { readonly phase: "failed"; readonly file: File; readonly message: string }
  | { readonly phase: "refused"; readonly message: string };

/** One upload at a time. It ends when the control goes. */
function useUpload(visibility: Visibility, onUploaded: (file: StoredFile) => void) {
  const [upload, setUpload] = useState<Upload>({ phase: "none" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const start = async (file: File): Promise<void> => {
    if (file.size > MAX_FILE_SIZE) {
      setUpload({ phase: "refused", message: text.editor.fileTooLarge(file.name, formatBytes(file.size)) });
      return;
    }
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setUpload({ phase: "sending", file, part: 0 });
    try {
      const onProgress = (part: number): void => {
        if (!stop.signal.aborted) setUpload({ phase: "sending", file, part });
      };
      const stored = await client.storage.upload(file, { visibility, signal: stop.signal, onProgress });
      if (stop.signal.aborted) return;
      setUpload({ phase: "none" });
      onUploaded(stored);
    } catch (thrown) {
      if (!stop.signal.aborted) setUpload({ phase: "failed", file, message: messageOf(thrown) });
    }
  };
  const cancel = (): void => {
    running.current?.abort();
    setUpload({ phase: "none" });
  };
  const refuse = (message: string): void => setUpload({ phase: "refused", message });
  return { upload, start, cancel, refuse };
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

export function FileControl(props: ControlProps) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const queryClient = useQueryClient();
  const id = typeof value === "string" ? value : null;
  const normal = useUploadVisibility();
  const [chosen, setChosen] = useState<Visibility | null>(null);
  const stored = useQuery({ ...fileQuery(id ?? ""), enabled: id !== null });
  // A file that takes the place of another is seen by the same people.
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

  const onDrop = ([file]: File[]): void => {
    if (file !== undefined) void start(file);
  };
  const state = <UploadState upload={upload} onCancel={cancel} onRetry={start} />;
  return (
    <Input.Wrapper
      label={label}
      error={error}
      size={size}
      labelElement="div"
      classNames={{ label: classes["label"] ?? "" }}
    >
      <Dropzone
        className={classes["drop"] ?? ""}
        onDrop={onDrop}
        onReject={(rejected) => {
          const [first] = rejected;
          if (rejected.length > 1 || first === undefined) refuse(text.editor.oneFile);
          else refuse(text.editor.fileTooLarge(first.file.name, formatBytes(first.file.size)));
        }}
        maxSize={MAX_FILE_SIZE}
        multiple={false}
        activateOnClick={false}
        activateOnKeyboard={false}
        inputProps={{ "aria-hidden": true, tabIndex: -1 }}
        enablePointerEvents
        data-empty={id === null || undefined}
        data-invalid={error !== undefined || undefined}
      >
        {id !== null && (
          <ChosenFile id={id} actions={field.required !== true && <ClearButton field={field} onChange={onChange} />} />
        )}
        {upload.phase === "sending" ? (
          state
        ) : (
          <>
            <Group gap="xs" className={classes["uploadBar"]}>
              <FileButton onChange={(file) => file !== null && void start(file)}>
                {(button) => (
                  <Button
                    {...button}
                    size="compact-xs"
                    variant="default"
                    leftSection={<IconUpload size={13} />}
                    aria-label={`${id === null ? text.editor.upload : text.editor.replace}: ${field.name}`}
                  >
                    {id === null ? text.editor.upload : text.editor.replace}
                  </Button>
                )}
              </FileButton>
              <Text size="xs" c="dimmed">
                {present === undefined ? text.editor.uploadAs : text.editor.fileIs}
              </Text>
              <SegmentedControl
                size="xs"
                aria-label={`${present === undefined ? text.editor.visibility : text.editor.fileVisibility}: ${field.name}`}
                value={visibility}
                onChange={choose}
                disabled={change.isPending}
                data={VISIBILITIES.map((each) => ({ value: each, label: text.storage.visibilities[each] }))}
              />
              {id === null && (
                <Text size="xs" c="dimmed">
                  {text.editor.dropHere}
                </Text>
              )}
            </Group>
            <Text size="xs" c="dimmed" mb={8}>
              {text.storage.visibilityHints[visibility]} {visibility === normal.visibility && normal.reason}
            </Text>
            {picker}
            {state}
          </>
        )}
      </Dropzone>
    </Input.Wrapper>
  );
}

function UploadState(props: { upload: Upload; onCancel: () => void; onRetry: (file: File) => void }) {
  const { upload, onCancel, onRetry } = props;
  if (upload.phase === "none") return null;
  if (upload.phase === "sending") {
    const { name, size } = upload.file;
    return (
      <div>
        <Group justify="space-between" wrap="nowrap" mb={6}>
          <Text size="xs" truncate role="status">
            {text.editor.uploading(name)}
          </Text>
          <Text size="xs" c="dimmed" className="numbers" style={{ flex: "none" }}>
            {formatBytes(size * upload.part)} / {formatBytes(size)}
          </Text>
          <Button size="compact-xs" variant="default" onClick={onCancel} style={{ flex: "none" }}>
            {text.editor.cancelUpload}
          </Button>
        </Group>
        <Progress value={upload.part * 100} size="sm" aria-label={text.editor.uploading(name)} />
      </div>
    );
  }
  return (
    <Alert color="red" variant="light" p="xs" mt="xs" role="alert">
      <Group gap="xs" justify="space-between">
        <Text size="xs" flex={1}>
          {upload.phase === "failed" && `${text.editor.uploadFailed(upload.file.name)} `}
          {upload.message}
        </Text>
        {upload.phase === "failed" && (
          <Button size="compact-xs" variant="default" onClick={() => onRetry(upload.file)}>
            {text.common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
