/** The preview of a file: an image, sound, a film, the beginning of a text. Any other file has only a download. */
import { Code, Skeleton } from "@mantine/core";
import type { StoredFile } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Dim, ErrorState, formatBytes, maxWhole, useObjectUrl, usePicture } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import classes from "./storage.module.css";

/** Most bytes of a text in the preview. */
const maxText = 100 * 1_024;

function isText(mimeType: string): boolean {
  return /^text\/|json|xml|javascript|csv|yaml/.test(mimeType);
}

export function Preview({ file }: { file: StoredFile }) {
  if (file.mimeType.startsWith("image/")) return <ImagePreview file={file} />;
  if (/^(audio|video)\//.test(file.mimeType)) return <MediaPreview file={file} />;
  if (isText(file.mimeType) && file.size > 0) return <TextPreview file={file} />;
  return <Dim size="sm">{text.storage.noPreview}</Dim>;
}

function ImagePreview({ file }: { file: StoredFile }) {
  const { url, missing } = usePicture(file, "800x800");
  const [isBroken, setBroken] = useState(false);
  if (missing !== null || isBroken)
    return (
      <Dim size="sm">
        {missing === "too large" ? text.storage.largeImage(formatBytes(maxWhole)) : text.storage.noImage}
      </Dim>
    );
  if (url === null) return <Skeleton height={220} aria-hidden />;
  return (
    <img
      src={url}
      alt={text.storage.previewOf(file.filename)}
      className={classes["preview"]}
      onError={() => setBroken(true)}
    />
  );
}

/** @param maxBytes bytes from the beginning; undefined reads the whole file. */
function useContent(file: StoredFile, maxBytes?: number) {
  return useQuery({
    queryKey: ["storage", "content", file.id, maxBytes],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
    queryFn: ({ signal }) => client.storage.download(file.id, { signal, ...(maxBytes !== undefined && { maxBytes }) }),
  });
}

function MediaPreview({ file }: { file: StoredFile }) {
  const query = useContent(file);
  const url = useObjectUrl(query.data ?? null);
  if (query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (url === null) return <Skeleton height={54} aria-hidden />;
  const label = text.storage.previewOf(file.filename);
  return file.mimeType.startsWith("audio/") ? (
    // biome-ignore lint/a11y/useMediaCaption: a stored file has no captions.
    <audio controls src={url} aria-label={label} style={{ width: "100%" }} />
  ) : (
    // biome-ignore lint/a11y/useMediaCaption: a stored file has no captions.
    <video controls src={url} aria-label={label} style={{ width: "100%" }} />
  );
}

function TextPreview({ file }: { file: StoredFile }) {
  const query = useContent(file, maxText);
  const beginning = useQuery({
    queryKey: ["storage", "text", file.id, query.data?.size],
    enabled: query.data !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    // A character cut at the end is left out.
    queryFn: async () => new TextDecoder().decode(await query.data?.arrayBuffer(), { stream: true }),
  });
  if (query.isError) return <ErrorState error={query.error} onRetry={query.refetch} />;
  if (beginning.data === undefined) return <Skeleton height={120} aria-hidden />;
  return (
    <>
      <Code block className={classes["text"]} tabIndex={0} aria-label={text.storage.previewOf(file.filename)}>
        {beginning.data}
      </Code>
      {file.size > maxText && <Dim mt={4}>{text.storage.cutText}</Dim>}
    </>
  );
}
