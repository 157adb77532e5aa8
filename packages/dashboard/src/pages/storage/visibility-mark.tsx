/** Visibility of a file, as a word with an icon. */
import type { Visibility } from "@socle/protocol";
import { IconFileText, IconLock, IconWorld } from "@tabler/icons-react";
import { Mark } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const icons = { public: IconWorld, record: IconFileText, protected: IconLock };

export function VisibilityMark({ visibility }: { visibility: Visibility }) {
  return (
    <Mark tone={visibility === "public" ? "warn" : "quiet"} icon={icons[visibility]}>
      {text.storage.visibilities[visibility]}
    </Mark>
  );
}
