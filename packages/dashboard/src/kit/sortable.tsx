/** A list whose items a person moves by drag or by keyboard; a screen reader hears each step of the move. */
import {
  closestCenter,
  DndContext,
  type DragOverEvent,
  KeyboardSensor,
  PointerSensor,
  type UniqueIdentifier,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  horizontalListSortingStrategy,
  SortableContext,
  sortableKeyboardCoordinates,
  verticalListSortingStrategy,
} from "@dnd-kit/sortable";
import type { ReactNode } from "react";
import { text } from "../texts/index.ts";

interface SortableProps {
  /** The keys of the items in their order, for `useSortable` of each item. */
  ids: readonly string[];
  nameOf: (at: number) => string;
  isHorizontal?: boolean;
  onMove: (from: number, to: number) => void;
  children: ReactNode;
}

export function Sortable({ ids, nameOf, isHorizontal = false, onMove, children }: SortableProps) {
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const placeOf = (id: UniqueIdentifier): number => ids.indexOf(String(id));
  const { picked, over: isOver, dropped, cancelled, instructions } = text.schema.fields.announce;
  const told =
    (say: typeof picked) =>
    ({ active, over }: Pick<DragOverEvent, "active"> & Partial<Pick<DragOverEvent, "over">>): string =>
      say(nameOf(placeOf(active.id)), placeOf((over ?? active).id) + 1, ids.length);
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      onDragEnd={({ active, over }) => {
        if (over !== null && over.id !== active.id) onMove(placeOf(active.id), placeOf(over.id));
      }}
      accessibility={{
        announcements: {
          onDragStart: told(picked),
          onDragOver: (event) => (event.over === null ? undefined : told(isOver)(event)),
          onDragEnd: told(dropped),
          onDragCancel: told(cancelled),
        },
        screenReaderInstructions: { draggable: instructions },
      }}
    >
      <SortableContext
        items={[...ids]}
        strategy={isHorizontal ? horizontalListSortingStrategy : verticalListSortingStrategy}
      >
        {children}
      </SortableContext>
    </DndContext>
  );
}
