/** The fields of an index in their order; the user changes the order by drag or by keyboard. */
import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import {
  horizontalListSortingStrategy,
  SortableContext,
  sortableKeyboardCoordinates,
  useSortable,
} from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { CloseButton, UnstyledButton } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import { refName, type SchemaDraft } from "../draft/draft.ts";
import { moved } from "../draft/edits.ts";
import classes from "./indexes.module.css";

const words = text.schema.indexes;

export function IndexFields(props: {
  draft: SchemaDraft;
  refs: readonly string[];
  /** The number of the index in the list. */
  number: number;
  onChange: (refs: readonly string[]) => void;
  /** Called after the removal of a field: the focus needs a new place, because its button is removed too. */
  onEmptied: () => void;
}) {
  const { draft, refs, number, onChange, onEmptied } = props;
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  // A field that appears twice has a separate key for each position.
  const ids = refs.map((ref, i) => (refs.indexOf(ref) === i ? ref : `${ref} ${i}`));
  const dragged = ({ active, over }: DragEndEvent): void => {
    if (over !== null) onChange(moved(refs, ids.indexOf(String(active.id)), ids.indexOf(String(over.id))));
  };
  const { picked, over: isOver, dropped, cancelled } = text.schema.fields.announce;
  const nameOf = (id: string | number): string => refName(draft, refs[ids.indexOf(String(id))] ?? "");
  const placeOf = (id: string | number): number => ids.indexOf(String(id)) + 1;
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={closestCenter}
      onDragEnd={dragged}
      accessibility={{
        announcements: {
          onDragStart: ({ active }) => picked(nameOf(active.id), placeOf(active.id), refs.length),
          onDragOver: ({ active, over }) =>
            over === null ? undefined : isOver(nameOf(active.id), placeOf(over.id), refs.length),
          onDragEnd: ({ active, over }) => dropped(nameOf(active.id), placeOf(over?.id ?? active.id), refs.length),
          onDragCancel: ({ active }) => cancelled(nameOf(active.id)),
        },
        screenReaderInstructions: { draggable: text.schema.fields.announce.instructions },
      }}
    >
      <SortableContext items={ids} strategy={horizontalListSortingStrategy}>
        {ids.map((id, i) => (
          <IndexField
            key={id}
            id={id}
            name={refName(draft, refs[i] ?? "")}
            number={number}
            onRemove={() => {
              onChange(refs.filter((_, place) => place !== i));
              onEmptied();
            }}
          />
        ))}
      </SortableContext>
    </DndContext>
  );
}

function IndexField(props: { id: string; name: string; number: number; onRemove: () => void }) {
  const { id, name, number, onRemove } = props;
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id });
  return (
    <span
      ref={setNodeRef}
      className={classes["field"]}
      data-dragging={isDragging || undefined}
      style={{ transform: CSS.Translate.toString(transform), transition }}
    >
      <UnstyledButton
        {...attributes}
        {...listeners}
        className={classes["fieldName"]}
        aria-label={words.moveField(name, number)}
      >
        {name}
      </UnstyledButton>
      <CloseButton size="xs" aria-label={words.removeField(name, number)} onClick={onRemove} />
    </span>
  );
}
