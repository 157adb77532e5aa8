/** The keys of the records page. A drawer that is about to open gets the keys already. */
import { useListedShortcut, useShortcut } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { GridState } from "./grid/use-grid-state.ts";

export function useRecordShortcuts(options: {
  state: GridState;
  isFree: boolean;
  /** Whether the grid has the focus. */
  hasFocus: boolean;
  onOpen: (id: string) => void;
  onSearch: () => void;
  onDelete: (ids: readonly string[]) => void;
}): void {
  const { state, isFree, hasFocus, onOpen, onSearch, onDelete } = options;
  const group = text.shortcuts.page;
  const words = text.records.shortcuts;
  const open = (): void => {
    if (state.activeId !== undefined) onOpen(state.activeId);
  };
  const canDelete = isFree && (hasFocus || state.selected.size > 0);
  useShortcut({ keys: "n", label: words.new, group }, () => onOpen("new"), isFree);
  useShortcut({ keys: "/", label: words.search, group }, onSearch, isFree);
  useShortcut({ keys: "o", label: words.open, group }, open, isFree);
  useShortcut({ keys: "Delete", label: words.delete, group }, () => onDelete(state.chosen()), canDelete);
  useShortcut({ keys: "mod+a", label: words.selectAll, group }, state.selectAll, hasFocus && !state.editing);
  useShortcut({ keys: "Escape", label: words.clear, group }, state.clear, state.selected.size > 0);
  useListedShortcut({ keys: "ArrowUp ArrowDown ArrowLeft ArrowRight", label: words.move, group });
  useListedShortcut({ keys: "Enter", label: words.edit, group });
  useListedShortcut({ keys: "Space", label: words.select, group });
  useListedShortcut({ keys: "mod+s", label: words.save, group });
}
