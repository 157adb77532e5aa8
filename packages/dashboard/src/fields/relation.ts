/** The id of a record or of a user. */
import { IconLink } from "@tabler/icons-react";
import { preloadable } from "../kit/preloadable.tsx";
import { callerId, type FieldKind, noValue, nullness, readTrimmed, words } from "./kind.ts";
import { RelationCell } from "./relation-cell.tsx";

export const relationKind: FieldKind = {
  icon: IconLink,
  words: words("relation"),
  width: 176,
  isInline: true,
  operators: ["=", "!=", "in", ...nullness],
  completions: ["=", "!=", "in"],
  values: [callerId, noValue],
  read: (typed) => (typed === "@user.id" ? { type: "macro", name: typed } : readTrimmed(typed)),
  firstDefault: "@user.id",
  isDefault: () => true,
  Cell: RelationCell,
  control: preloadable(
    async () => (await import("../pages/records/editor/controls/relation-control.tsx")).RelationControl,
  ),
};
