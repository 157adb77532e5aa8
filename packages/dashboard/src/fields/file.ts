/** The id of a stored file. */
import { IconFile } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { FileValueCell } from "../pages/records/grid/cells.tsx";
import { callerEmail, callerId, type FieldKind, noValue, nullness, readTrimmed, words } from "./kind.ts";

export const fileKind: FieldKind = {
  icon: IconFile,
  words: words("file"),
  width: 184,
  isInline: false,
  isNumber: false,
  operators: ["=", "!=", ...nullness],
  completions: ["=", "!=", "in"],
  values: [noValue, callerId, callerEmail],
  read: readTrimmed,
  firstDefault: "",
  isDefault: () => true,
  example: undefined,
  Cell: FileValueCell,
  control: preloadable(async () => (await import("../pages/records/editor/controls/file-control.tsx")).FileControl),
};
