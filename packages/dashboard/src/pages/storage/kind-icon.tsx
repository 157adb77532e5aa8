/** The icon for a kind of file, by its MIME type. */
import {
  IconFile,
  IconFileText,
  IconFileTypePdf,
  IconFileZip,
  IconMusic,
  IconPhoto,
  IconVideo,
} from "@tabler/icons-react";
import type { ComponentType } from "react";

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
