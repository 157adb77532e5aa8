/** The id of a stored file: a cell shows the thumbnail or icon, and the name. A cell in motion loads neither: the requests begin after a short rest. */
import { IconFile, IconFileMusic, IconFileText, IconFileTypePdf, IconMovie, IconPhoto } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { usePicture, visible } from "../kit/index.ts";
import { preloadable } from "../kit/preloadable.tsx";
import { fileQuery } from "../pages/storage/queries.ts";
import classes from "./cell.module.css";
import {
  type CellProps,
  callerEmail,
  callerId,
  type FieldKind,
  noValue,
  nullness,
  readTrimmed,
  words,
} from "./kind.ts";

const standingMs = 150;

function iconOf(mimeType: string) {
  if (mimeType.startsWith("image/")) return IconPhoto;
  if (mimeType.startsWith("video/")) return IconMovie;
  if (mimeType.startsWith("audio/")) return IconFileMusic;
  if (mimeType === "application/pdf") return IconFileTypePdf;
  return mimeType.startsWith("text/") ? IconFileText : IconFile;
}

function FileCell({ value }: CellProps) {
  const id = String(value);
  const [isStanding, setStanding] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStanding(true), standingMs);
    return () => clearTimeout(timer);
  }, []);
  const { data: file } = useQuery({ ...fileQuery(id), enabled: isStanding, staleTime: 300_000 });
  const { url } = usePicture(file, "64x64");
  const Icon = iconOf(file?.mimeType ?? "");
  return (
    <span className={classes["file"]} title={id}>
      {url === null ? (
        <span className={classes["icon"]}>
          <Icon size={16} stroke={1.6} aria-hidden />
        </span>
      ) : (
        <img className={classes["thumb"]} src={url} alt="" decoding="async" />
      )}
      <span className={`cut ${classes["text"]}`}>{visible(file?.filename ?? `…${id.slice(-8)}`)}</span>
    </span>
  );
}

export const fileKind: FieldKind = {
  icon: IconFile,
  words: words("file"),
  width: 184,
  operators: ["=", "!=", ...nullness],
  completions: ["=", "!=", "in"],
  values: [noValue, callerId, callerEmail],
  read: readTrimmed,
  firstDefault: "",
  isDefault: () => true,
  Cell: FileCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/file-control.tsx")).FileControl),
};
