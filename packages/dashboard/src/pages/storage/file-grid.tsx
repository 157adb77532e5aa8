/** Files as pictures, and the icon for the kind of a file. Only the tiles in view hold their thumbnails. */
import { Skeleton, Text, UnstyledButton } from "@mantine/core";
import { useIntersection } from "@mantine/hooks";
import type { StoredFile } from "@socle/protocol";
import { type ComponentType, useState } from "react";
import {
  IconFile,
  IconFileText,
  IconFileTypePdf,
  IconFileZip,
  IconMusic,
  IconPhoto,
  IconVideo,
} from "../../icons/index.ts";
import { CheckRow, formatBytes, type Selection, usePicture, visible } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./storage.module.css";

export function FileGrid(props: {
  files: readonly StoredFile[] | undefined;
  selection: Selection;
  onOpen: (file: StoredFile) => void;
}) {
  const { files, selection, onOpen } = props;
  if (files === undefined)
    return (
      <div className={classes["grid"]} aria-busy="true">
        {Array.from({ length: 12 }, (_, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the tiles are all the same.
          <Skeleton key={n} height={190} radius="md" />
        ))}
      </div>
    );
  return (
    <div className="fills">
      <ul className={`plain ${classes["grid"]}`} aria-label={text.storage.title}>
        {files.map((file) => (
          <Tile key={file.id} file={file} selection={selection} onOpen={() => onOpen(file)} />
        ))}
      </ul>
    </div>
  );
}

function Tile({ file, selection, onOpen }: { file: StoredFile; selection: Selection; onOpen: () => void }) {
  const { ref, entry } = useIntersection<HTMLLIElement>({ rootMargin: "200px" });
  const { url } = usePicture(file, "400x400", entry?.isIntersecting === true);
  const [isBroken, setBroken] = useState(false);
  const isSelected = selection.selected.has(file.id);
  return (
    <li ref={ref} className={classes["tile"]} data-is-selected={isSelected || undefined}>
      <CheckRow
        id={file.id}
        selection={selection}
        label={text.storage.select(file.filename)}
        className={classes["tileCheck"]}
      />
      <UnstyledButton display="block" w="100%" onClick={onOpen}>
        <span className={classes["tilePicture"]}>
          {url === null || isBroken ? (
            <KindIcon mimeType={file.mimeType} size={40} />
          ) : (
            <img src={url} alt="" onError={() => setBroken(true)} />
          )}
        </span>
        <span className={classes["tileText"]}>
          <Text span size="sm" truncate title={file.filename}>
            {visible(file.filename)}
          </Text>
          <Text span size="xs" c="dimmed" className="numbers">
            {formatBytes(file.size)} · {text.storage.visibilities[file.visibility]}
          </Text>
        </span>
      </UnstyledButton>
    </li>
  );
}

type Icon = ComponentType<{ size?: number; stroke?: number }>;

const icons: readonly (readonly [pattern: RegExp, icon: Icon])[] = [
  [/^image\//, IconPhoto],
  [/^video\//, IconVideo],
  [/^audio\//, IconMusic],
  [/^application\/pdf$/, IconFileTypePdf],
  [/zip|tar|compressed|gzip/, IconFileZip],
  [/^text\/|json|xml|javascript/, IconFileText],
];

export function KindIcon({ mimeType, size = 16 }: { mimeType: string; size?: number }) {
  const Icon = icons.find(([pattern]) => pattern.test(mimeType))?.[1] ?? IconFile;
  return <Icon size={size} stroke={1.5} />;
}
