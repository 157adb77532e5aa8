/** The selected rows of the grid. A range begins at the row that was chosen last. */
import { useMemo, useRef, useState } from "react";
import { type Rows, rowAt } from "../data/use-rows.ts";

const nothing: ReadonlySet<string> = new Set();

export function useSelection(rows: Rows) {
  const [selected, setSelected] = useState(nothing);
  const anchor = useRef(0);
  const latest = useRef({ rows, selected });
  latest.current = { rows, selected };
  const actions = useMemo(() => {
    const selectAll = (): void => setSelected(new Set(latest.current.rows.items.map(({ id }) => id)));
    const clear = (): void => setSelected(nothing);
    return {
      selectAll,
      clear,
      toggleAll: (): void => {
        const { rows, selected } = latest.current;
        if (selected.size >= rows.items.length) clear();
        else selectAll();
      },
      /** Makes a row the first row of a range. */
      anchorAt: (row: number): void => {
        anchor.current = row;
      },
      select: (place: number, { isRange }: { isRange: boolean }): void => {
        const { rows, selected } = latest.current;
        const row = rowAt(rows, place);
        if (row === undefined) return;
        const from = isRange ? anchor.current : place;
        const first = Math.min(from, place);
        const ids = Array.from({ length: Math.abs(from - place) + 1 }, (_, i) => rowAt(rows, first + i)?.id);
        const isOn = isRange || !selected.has(row.id);
        anchor.current = place;
        setSelected((before) => withIds(before, ids, isOn));
      },
    };
  }, []);
  return { selected, ...actions };
}

function withIds(
  before: ReadonlySet<string>,
  ids: readonly (string | undefined)[],
  isOn: boolean,
): ReadonlySet<string> {
  const next = new Set(before);
  for (const id of ids) {
    if (id === undefined) continue;
    if (isOn) next.add(id);
    else next.delete(id);
  }
  return next;
}
