/** The picture of a stored file: its thumbnail, also of a protected file, which only a request with a token brings. */
import { SocleError } from "@socle/client";
import type { StoredFile } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client } from "../service/client.ts";

/** Images that have no thumbnail are shown whole, up to this size. */
export const maxWhole = 2 * 1_024 * 1_024;

/** A blob as an address of the browser, which is given back when the component goes. */
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

export interface Picture {
  /** Its address; null while it is on its way, and where there is none. */
  readonly url: string | null;
  /** Why there is none: no image, too large to be shown whole, or nothing that the service could make smaller. */
  readonly missing: "no image" | "too large" | "broken" | null;
}

function hasThumbnail({ mimeType }: StoredFile): boolean {
  return /^image\/(png|jpeg|webp)$/.test(mimeType);
}

/**
 * A picture of the file. The `onError` of its `<img>` tells of a picture that the browser cannot show.
 * @param box of the thumbnail: "200x200". @param isWanted whether it is on the screen.
 */
export function usePicture(file: StoredFile | undefined, box = "200x200", isWanted = true): Picture {
  const isImage = file?.mimeType.startsWith("image/") === true;
  const isTooLarge = file !== undefined && !hasThumbnail(file) && file.size > maxWhole;
  const { data = null, isError } = useQuery({
    queryKey: ["storage", "picture", file?.id, box],
    enabled: isImage && isWanted && !isTooLarge,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    // A service that has no time for a thumbnail has it a moment later.
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
