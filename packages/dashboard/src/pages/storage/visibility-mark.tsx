/** Visibility of a file, as a word with an icon. */
import type { Visibility } from "@socle/protocol";
import { IconLock, IconWorld } from "@tabler/icons-react";
import { Mark } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

export function VisibilityMark({ visibility }: { visibility: Visibility }) {
  const isPublic = visibility === "public";
  return (
    <Mark tone={isPublic ? "warn" : "quiet"} icon={isPublic ? IconWorld : IconLock}>
      {text.storage.visibilities[visibility]}
    </Mark>
  );
}
