/** A file: its thumbnail or its icon, and its name. A cell in motion loads neither: the requests begin after a short rest. */
import { IconFile, IconFileMusic, IconFileText, IconFileTypePdf, IconMovie, IconPhoto } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { visible } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import classes from "./cell.module.css";

const standingMs = 150;
const thumb = "64x64";

function iconOf(mimeType: string) {
  if (mimeType.startsWith("image/")) return IconPhoto;
  if (mimeType.startsWith("video/")) return IconMovie;
  if (mimeType.startsWith("audio/")) return IconFileMusic;
  if (mimeType === "application/pdf") return IconFileTypePdf;
  return mimeType.startsWith("text/") ? IconFileText : IconFile;
}

/** File types with thumbnails by the service. */
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

export function FileCell({ id }: { id: string }) {
  const [isStanding, setStanding] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStanding(true), standingMs);
    return () => clearTimeout(timer);
  }, []);
  const { data: file } = useQuery({
    queryKey: ["files", "one", id],
    queryFn: () => client.admin.file(id),
    enabled: isStanding,
    retry: false,
    staleTime: 300_000,
  });
  const mimeType = file?.mimeType ?? "";
  const Icon = iconOf(mimeType);
  return (
    <span className={classes["file"]} title={id}>
      {pictures.includes(mimeType) ? (
        <Thumb id={id} isPublic={file?.visibility === "public"} />
      ) : (
        <span className={classes["icon"]}>
          <Icon size={16} stroke={1.6} aria-hidden />
        </span>
      )}
      <span className={classes["text"]}>{visible(file?.filename ?? `…${id.slice(-8)}`)}</span>
    </span>
  );
}

function Thumb({ id, isPublic }: { id: string; isPublic: boolean }) {
  // The content of a protected file needs the token, so the code fetches the content and caches the content for a minute.
  const { data: blob } = useQuery({
    queryKey: ["thumbs", id],
    queryFn: ({ signal }) => client.storage.download(id, { thumb, signal }),
    enabled: !isPublic,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (blob === undefined) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  const source = isPublic ? client.storage.url(id, { thumb }) : url;
  if (source === null) return <span className={classes["thumb"]} />;
  return <img className={classes["thumb"]} src={source} alt="" loading="lazy" decoding="async" />;
}
