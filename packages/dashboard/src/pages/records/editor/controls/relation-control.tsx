/** The control for `relation`: searches the target collection, shows the chosen records by name, and links to the records. */
import { Group, Text } from "@mantine/core";
import { useInViewport } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Dim, messageOf } from "../../../../kit/index.ts";
import { isGone } from "../../../../service/refusals.ts";
import { text } from "../../../../texts/index.ts";
import { ClearButton, ControlFrame, type ControlProps, isCompact } from "./control.tsx";
import { ItemList } from "./item-list.tsx";
import { hasRoom, itemsOf, withItem } from "./items.ts";
import {
  ChosenName,
  chosenQuery,
  RelationActions,
  type RelationTarget,
  TargetPicker,
  useTarget,
} from "./relation-target.tsx";

/** @param props `emptyText`: see `Picker`. */
export function RelationControl(props: ControlProps & { emptyText?: string }) {
  const { field, value, error, label } = props;
  const target = useTarget(field);
  const shared = { ...props, target };
  if (!target.isUnknown) return field.multiple === true ? <SeveralRecords {...shared} /> : <OneRecord {...shared} />;
  return (
    <ControlFrame label={label} error={error}>
      <Dim size="sm">
        {text.editor.unknownCollection(target.name)} {value !== null && <span className="mono">{String(value)}</span>}
      </Dim>
    </ControlFrame>
  );
}

function OneRecord(props: Parameters<typeof RelationControl>[0] & { target: RelationTarget }) {
  const { target, field, value, onChange, error, label, size, emptyText } = props;
  const { ref, inViewport } = useInViewport();
  const [wasSeen, see] = useState(false);
  useEffect(() => {
    if (inViewport) see(true);
  }, [inViewport]);
  const id = typeof value === "string" ? value : null;
  // Forms with a hundred relations read only the names on the screen.
  const query = chosenQuery(target, id ?? "");
  const chosen = useQuery({ ...query, enabled: query.enabled === true && id !== null && wasSeen });
  const dangling = chosen.isError ? (isGone(chosen.error) ? text.editor.dangling : messageOf(chosen.error)) : null;
  return (
    <ControlFrame ref={ref} label={label} error={error} description={isCompact(props) ? null : dangling}>
      <TargetPicker
        control={props}
        target={target}
        chosen={id === null ? null : <ChosenName id={id} chosen={chosen} />}
        size={size}
        emptyText={emptyText}
        onPick={onChange}
        rightSection={
          id !== null && (
            <Group gap={0} wrap="nowrap">
              {!isCompact(props) && <RelationActions field={field} id={id} chosen={chosen} />}
              <ClearButton field={field} value={value} onChange={onChange} />
            </Group>
          )
        }
      />
    </ControlFrame>
  );
}

/** The chosen records in their order, and a search for a further record. */
function SeveralRecords(props: ControlProps & { target: RelationTarget }) {
  const { target, field, value, onChange, error, label } = props;
  const items = itemsOf(value);
  return (
    <ControlFrame label={label} error={error}>
      <ItemList
        name={field.name}
        items={items}
        onChange={(next) => onChange([...next])}
        content={(id) => <Item id={id} control={props} target={target} />}
      />
      {hasRoom(field, items) && (
        <TargetPicker
          control={props}
          target={target}
          chosen={null}
          size="xs"
          emptyText={text.editor.addItem}
          onPick={(id) => onChange([...withItem(items, id)])}
        />
      )}
    </ControlFrame>
  );
}

function Item({ id, control, target }: { id: string; control: ControlProps; target: RelationTarget }) {
  const chosen = useQuery(chosenQuery(target, id));
  return (
    <>
      <ChosenName id={id} chosen={chosen} />
      {chosen.isError && isGone(chosen.error) && (
        <Text span size="xs" c="var(--mantine-color-error)">
          {text.editor.danglingItem}
        </Text>
      )}
      <RelationActions field={control.field} id={id} chosen={chosen} />
    </>
  );
}
