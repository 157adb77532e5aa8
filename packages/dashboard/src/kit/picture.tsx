/** The content of a stored file: its thumbnail as a picture, and a download. */
import { SocleError } from "@socle/client";
import type { StoredFile } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client } from "../service/client.ts";

/** The largest image without a thumbnail that is shown whole, in bytes. */
export const maxWhole = 2 * 1_024 * 1_024;

/** An object URL of a blob; the URL is revoked when the component leaves the page. */
export function useObjectUrl(blob: Blob | null): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (blob === null) return undefined;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => {
      setUrl(null);
      URL.revokeObjectURL(made);
    };
  }, [blob]);
  return url;
}

interface Picture {
  /** The address of the picture; null while the picture loads, and for a missing picture. */
  readonly url: string | null;
  /** The reason of a missing picture: no image, too large to be shown whole, or an image that the service could not make smaller. */
  readonly missing: "no image" | "too large" | "broken" | null;
}

function hasThumbnail({ mimeType }: StoredFile): boolean {
  return /^image\/(png|jpeg|webp)$/.test(mimeType);
}

/**
 * A picture of the file. For a picture that the browser cannot show, the `<img>` calls `onError`.
 * @param box of the thumbnail: "200x200". @param isWanted whether the picture is on the screen.
 */
export function usePicture(file: StoredFile | undefined, box = "200x200", isWanted = true): Picture {
  const isImage = file?.mimeType.startsWith("image/") === true;
  const isTooLarge = file !== undefined && !hasThumbnail(file) && file.size > maxWhole;
  const { data = null, isError } = useQuery({
    queryKey: ["storage", "picture", file?.id, box],
    enabled: isImage && isWanted && !isTooLarge,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    // A service without time for a thumbnail has the thumbnail a moment later.
    retry: (failures, error) => failures < 2 && !(error instanceof SocleError && error.status < 500),
    queryFn: async ({ signal }) => {
      if (file === undefined) return null;
      return client.storage.download(file.id, hasThumbnail(file) ? { thumb: box, signal } : { signal });
    },
  });
  const url = useObjectUrl(data);
  const missing = !isImage ? "no image" : isTooLarge ? "too large" : isError ? "broken" : null;
  return { url, missing };
}

export function saveBlob(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The browser reads the address after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
