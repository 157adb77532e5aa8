/** The control for `file`: uploads files or picks stored files, and shows the chosen files. */
import { Alert, Badge, Box, FileButton, Group, Image, Progress, Skeleton, Text } from "@mantine/core";
import { MAX_FILE_SIZE, type StoredFile, type Visibility } from "@socle/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { IconDownload, IconFile, IconUpload } from "../../../../icons/index.ts";
import {
  Action,
  Dim,
  FileDrop,
  formatBytes,
  IconAction,
  IdText,
  messageOf,
  notifyFailure,
  saveBlob,
  usePicture,
  visible,
} from "../../../../kit/index.ts";
import { client } from "../../../../service/client.ts";
import { isGone } from "../../../../service/refusals.ts";
import { text } from "../../../../texts/index.ts";
import { fileQuery, useVisibility } from "../../../storage/queries.ts";
import { VisibilityChoice } from "../../../storage/visibility.tsx";
import { isId } from "../naming.ts";
import { ClearButton, ControlFrame, type ControlProps, UploadVisibilityContext } from "./control.tsx";
import classes from "./controls.module.css";
import { ItemList } from "./item-list.tsx";
import { hasRoom, itemsOf, withItem } from "./items.ts";
import { PICKER_LIMIT, Picker, type PickerItem } from "./picker.tsx";

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
    <Action
      label={label}
      onClick={onClick}
      size="compact-xs"
      leftSection={<IconUpload size={13} />}
      aria-label={`${label}: ${name}`}
    />
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

type Upload =
  | { readonly phase: "none" }
  | { readonly phase: "sending"; readonly file: File; readonly part: number }
  | { readonly phase: "failed"; readonly file: File; readonly message: string }
  | { readonly phase: "refused"; readonly message: string };

interface Uploads {
  readonly upload: Upload;
  /** Uploads files after the files that wait. */
  readonly send: (files: readonly File[]) => void;
  /** Uploads the failed file again, and then the files behind that file. */
  readonly retry: () => void;
  readonly cancel: () => void;
  readonly refuse: (message: string) => void;
}

/** A single upload at a time. The uploads end when the control leaves the page. */
function useUploads(visibility: Visibility, onUploaded: (file: StoredFile) => void): Uploads {
  const queryClient = useQueryClient();
  const [upload, setUpload] = useState<Upload>({ phase: "none" });
  const waiting = useRef<File[]>([]);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const store = async (file: File, { signal }: AbortController): Promise<void> => {
    setUpload({ phase: "sending", file, part: 0 });
    const onProgress = (part: number): void => {
      if (!signal.aborted) setUpload({ phase: "sending", file, part });
    };
    const stored = await client.storage.upload(file, { visibility, signal, onProgress });
    signal.throwIfAborted();
    waiting.current.shift();
    setUpload({ phase: "none" });
    queryClient.setQueryData(fileQuery(stored.id).queryKey, stored);
    onUploaded(stored);
  };
  const goOn = async (): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    for (let [file] = waiting.current; file !== undefined; [file] = waiting.current) {
      try {
        await store(file, stop);
      } catch (thrown) {
        if (stop.signal.aborted) return;
        setUpload({ phase: "failed", file, message: messageOf(thrown) });
        break;
      }
    }
    running.current = null;
  };
  const refuse = (message: string): void => setUpload({ phase: "refused", message });
  return {
    upload,
    send: (files) => {
      const tooLarge = files.find(({ size }) => size > MAX_FILE_SIZE);
      if (tooLarge !== undefined) return refuse(text.editor.fileTooLarge(tooLarge.name, formatBytes(tooLarge.size)));
      waiting.current.push(...files);
      if (running.current === null) void goOn();
    },
    retry: () => void goOn(),
    cancel: () => {
      waiting.current = [];
      running.current?.abort();
      running.current = null;
      setUpload({ phase: "none" });
    },
    refuse,
  };
}

function UploadState({ upload, cancel, retry }: Uploads) {
  if (upload.phase === "none") return null;
  if (upload.phase === "sending") {
    const { name, size } = upload.file;
    return (
      <div>
        <Group justify="space-between" wrap="nowrap" mb={6}>
          <Text size="xs" truncate role="status">
            {text.editor.uploading(name)}
          </Text>
          <Dim className="numbers" style={{ flex: "none" }}>
            {formatBytes(size * upload.part)} / {formatBytes(size)}
          </Dim>
          <Action label={text.editor.cancelUpload} size="compact-xs" onClick={cancel} style={{ flex: "none" }} />
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
        {upload.phase === "failed" && <Action label={text.common.retry} size="compact-xs" onClick={retry} />}
      </Group>
    </Alert>
  );
}

function ChosenFile({ id, actions }: { id: string; actions?: ReactNode }) {
  const { data: file, error, isPending } = useQuery(fileQuery(id));
  const { url: picture } = usePicture(file);
  if (isPending) return <Skeleton height={48} mb="xs" />;
  const isLost = isGone(error);
  return (
    <Group gap="sm" wrap="nowrap">
      <div className={classes["picture"]}>
        {picture !== null && file !== undefined ? (
          <Image src={picture} alt={text.editor.imageOf(file.filename)} fit="cover" w={48} h={48} />
        ) : (
          <IconFile size={20} stroke={1.5} aria-hidden />
        )}
      </div>
      <Box flex={1} miw={0}>
        <Text size="sm" truncate title={file?.filename}>
          {visible(file?.filename ?? "") || (isLost ? text.editor.fileGone : text.editor.fileUnknown)}
        </Text>
        <Group gap={6} c="dimmed" fz="xs" className="numbers">
          {file !== undefined ? (
            <>
              <span>{formatBytes(file.size)}</span>
              <span>{file.mimeType}</span>
              <Badge size="xs" variant="default" tt="none" fw={500}>
                {text.storage.visibilities[file.visibility]}
              </Badge>
            </>
          ) : (
            !isLost && error !== null && <span>{messageOf(error)}</span>
          )}
          <IdText id={id} />
        </Group>
      </Box>
      <Group gap={2} wrap="nowrap">
        {file !== undefined && <Download file={file} />}
        {actions}
      </Group>
    </Group>
  );
}

function Download({ file }: { file: StoredFile }) {
  const download = useMutation({
    mutationFn: async () => saveBlob(await client.storage.download(file.id), file.filename),
    onError: notifyFailure,
  });
  return (
    <IconAction
      tip={text.editor.download}
      icon={IconDownload}
      label={`${text.editor.download} ${file.filename}`}
      loading={download.isPending}
      onClick={() => download.mutate()}
    />
  );
}

/** The visibility of a stored file. A question comes before the file becomes public. */
function StoredVisibility({ file, label }: { file: StoredFile; label: string }) {
  const { change, choose } = useVisibility(file, notifyFailure);
  return <VisibilityChoice label={label} value={file.visibility} disabled={change.isPending} onChange={choose} />;
}
