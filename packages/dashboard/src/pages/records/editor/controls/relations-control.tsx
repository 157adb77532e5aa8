/** The control for a multiple `relation`: the chosen records in their order, and a search in the target for a further record. */
import { Input, Skeleton, Text } from "@mantine/core";
import type { CollectionEntry, FieldDefinition } from "@socle/protocol";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { collectionsQuery } from "../../../../service/queries.ts";
import { text } from "../../../../texts/index.ts";
import type { ControlProps } from "./control.ts";
import classes from "./controls.module.css";
import { ItemList } from "./item-list.tsx";
import { hasRoom, itemsOf, withItem } from "./items.ts";
import { Picker, PickerName } from "./picker.tsx";
import { type Chosen, isMissing, NoTargets, RelationActions, readChosen, searchTarget } from "./relation-target.tsx";

export function RelationsControl({ field, value, onChange, error, label, autoFocus }: ControlProps) {
  const targetName = field.collection ?? "";
  const isUsers = targetName === "users";
  const collections = useQuery({ ...collectionsQuery, enabled: !isUsers });
  const target = isUsers ? null : collections.data?.find(({ name }) => name === targetName);
  const queryClient = useQueryClient();
  const items = itemsOf(value);
  return (
    <Input.Wrapper label={label} error={error} labelElement="div" classNames={{ label: classes["label"] ?? "" }}>
      <ItemList
        name={field.name}
        items={items}
        onChange={(next) => onChange([...next])}
        content={(id) => <Item field={field} target={target} id={id} />}
      />
      {hasRoom(field, items) && (
        <Picker
          name={field.name}
          chosen={null}
          size="xs"
          autoFocus={autoFocus}
          isInvalid={error !== undefined}
          isRequired={field.required === true}
          emptyText={text.editor.addItem}
          queryKey={["relation", targetName]}
          search={(words, signal) => (target === undefined ? Promise.resolve([]) : searchTarget(target, words, signal))}
          emptyNote={isUsers ? undefined : <NoTargets name={targetName} />}
          onPick={(item) => {
            // The name is known: the list shows the name before the record is read.
            queryClient.setQueryData<Chosen>(["relation", targetName, item.id], {
              ...item,
              note: undefined,
              details: [],
            });
            void queryClient.invalidateQueries({ queryKey: ["relation", targetName, item.id] });
            onChange([...withItem(items, item.id)]);
          }}
        />
      )}
    </Input.Wrapper>
  );
}

/** @param props `target`: null for users, undefined while the target is not known. */
function Item(props: { field: FieldDefinition; target: CollectionEntry | null | undefined; id: string }) {
  const { field, target, id } = props;
  const chosen = useQuery({
    queryKey: ["relation", field.collection ?? "", id],
    queryFn: () => readChosen(target ?? null, id),
    enabled: target !== undefined,
    staleTime: 30_000,
    retry: false,
  });
  if (chosen.isPending && target !== undefined) return <Skeleton height={14} width="60%" />;
  return (
    <>
      {chosen.data === undefined ? (
        <span className={`mono ${classes["pickerText"]}`}>{id}</span>
      ) : (
        <PickerName id={id} name={chosen.data.name} />
      )}
      {chosen.isError && isMissing(chosen.error) && (
        <Text span size="xs" c="var(--mantine-color-error)">
          {text.editor.danglingItem}
        </Text>
      )}
      <RelationActions field={field} id={id} chosen={chosen.data} />
    </>
  );
}
