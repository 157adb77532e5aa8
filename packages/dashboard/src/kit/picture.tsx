/** The picture of a stored file: its thumbnail, also of a protected file, which only a request with a token brings. */
import type { StoredFile } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { client } from "../service/client.ts";

/** Images that have no thumbnail are shown whole, up to this size. */
const maxWhole = 2 * 1_024 * 1_024;

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

/**
 * The address of a picture of the file; null while it is on its way, and for what is no image.
 * @param box of the thumbnail: "200x200". @param isWanted whether it is on the screen.
 */
export function usePicture(file: StoredFile | undefined, box = "200x200", isWanted = true): string | null {
  const isImage = file?.mimeType.startsWith("image/") === true;
  const { data = null } = useQuery({
    queryKey: ["storage", "picture", file?.id, box],
    enabled: isImage && isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
    queryFn: async ({ signal }) => {
      if (file === undefined) return null;
      const hasThumbnail = /^image\/(png|jpeg|webp)$/.test(file.mimeType);
      if (!hasThumbnail && file.size > maxWhole) return null;
      return client.storage.download(file.id, hasThumbnail ? { thumb: box, signal } : { signal });
    },
  });
  return useObjectUrl(data);
}
