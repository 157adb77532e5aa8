/** The fields of an index in their order; the user changes the order by drag or by keyboard. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { CloseButton, UnstyledButton } from "@mantine/core";
import { Sortable } from "../../../kit/sortable.tsx";
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
  // A field that appears twice has a separate key for each position.
  const ids = refs.map((ref, i) => (refs.indexOf(ref) === i ? ref : `${ref} ${i}`));
  return (
    <Sortable
      ids={ids}
      nameOf={(at) => refName(draft, refs[at] ?? "")}
      isHorizontal
      onMove={(from, to) => onChange(moved(refs, from, to))}
    >
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
    </Sortable>
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
