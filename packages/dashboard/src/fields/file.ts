/** The id of a stored file. */
import { IconFile } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { FileCell } from "./file-cell.tsx";
import { callerEmail, callerId, type FieldKind, noValue, nullness, readTrimmed, words } from "./kind.ts";

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
