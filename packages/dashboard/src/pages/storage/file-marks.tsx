/** The marks of a file: an icon for its kind, and its visibility as a word with an icon. */

import type { Visibility } from "@socle/protocol";
import {
  IconFile,
  IconFileText,
  IconFileTypePdf,
  IconFileZip,
  IconLock,
  IconMusic,
  IconPhoto,
  IconVideo,
  IconWorld,
} from "@tabler/icons-react";
import type { ComponentType } from "react";
import { Mark } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

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

const visibilityIcons = { public: IconWorld, record: IconFileText, protected: IconLock };

export function VisibilityMark({ visibility }: { visibility: Visibility }) {
  return (
    <Mark tone={visibility === "public" ? "warn" : "quiet"} icon={visibilityIcons[visibility]}>
      {text.storage.visibilities[visibility]}
    </Mark>
  );
}
