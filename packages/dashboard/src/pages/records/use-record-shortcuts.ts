/** The keys of the records page. A drawer that is about to open gets the keys already. */
import { useListedShortcut, useShortcut } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { RecordsPage } from "./use-records-page.ts";

export function useRecordShortcuts(
  page: RecordsPage,
  /** `hasFocus`: whether the grid has the focus. */
  { hasFocus, onSearch }: { hasFocus: boolean; onSearch: () => void },
): void {
  const { state, remove } = page;
  const isFree = page.search.record === undefined;
  const group = text.shortcuts.page;
  const words = text.records.shortcuts;
  const open = (): void => {
    if (state.activeId !== undefined) page.open(state.activeId);
  };
  const canDelete = isFree && (hasFocus || state.selected.size > 0);
  useShortcut({ keys: "n", label: words.new, group }, () => page.open("new"), isFree);
  useShortcut({ keys: "/", label: words.search, group }, onSearch, isFree);
  useShortcut({ keys: "o", label: words.open, group }, open, isFree);
  useShortcut({ keys: "Delete", label: words.delete, group }, () => remove(state.chosen()), canDelete);
  useShortcut({ keys: "mod+a", label: words.selectAll, group }, state.selectAll, hasFocus && !state.editing);
  useShortcut({ keys: "Escape", label: words.clear, group }, state.clear, state.selected.size > 0);
  useListedShortcut({ keys: "ArrowUp ArrowDown ArrowLeft ArrowRight", label: words.move, group });
  useListedShortcut({ keys: "Enter", label: words.edit, group });
  useListedShortcut({ keys: "Space", label: words.select, group });
  useListedShortcut({ keys: "mod+s", label: words.save, group });
}
