/** The control for `relation`: searches the target collection, shows the chosen record by name, and links to the record. */
import { Group, Input, Skeleton } from "@mantine/core";
import { useInViewport } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Dim, messageOf } from "../../../../kit/index.ts";
import { collectionsQuery, userQuery } from "../../../../service/queries.ts";
import { text } from "../../../../texts/index.ts";
import { ClearButton } from "./clear-button.tsx";
import { type ControlProps, isCompact } from "./control.ts";
import classes from "./controls.module.css";
import { Picker, type PickerItem, PickerName } from "./picker.tsx";
import { type Chosen, isMissing, NoTargets, RelationActions, readChosen, searchTarget } from "./relation-target.tsx";

/** @param props `emptyText`: see `Picker`. */
export function RelationControl(props: ControlProps & { emptyText?: string }) {
  const { field, value, onChange, error, label, size, autoFocus } = props;
  const targetName = field.collection ?? "";
  const isUsers = targetName === "users";
  const collections = useQuery({ ...collectionsQuery, enabled: !isUsers });
  const target = isUsers ? null : collections.data?.find(({ name }) => name === targetName);
  const queryClient = useQueryClient();
  const { ref, inViewport } = useInViewport();
  const [wasSeen, see] = useState(false);
  useEffect(() => {
    if (inViewport) see(true);
  }, [inViewport]);

  const id = typeof value === "string" ? value : null;
  const key = ["relation", targetName, id ?? ""];
  const chosen = useQuery({
    queryKey: key,
    queryFn: () => readChosen(target ?? null, id ?? ""),
    // Forms with a hundred relations read only the names on the screen.
    enabled: id !== null && target !== undefined && wasSeen,
    staleTime: 30_000,
    retry: false,
  });
  const pick = (item: PickerItem): void => {
    // The name is known: the control shows the name before the record is read.
    queryClient.setQueryData<Chosen>(["relation", targetName, item.id], { ...item, note: undefined, details: [] });
    void queryClient.invalidateQueries({ queryKey: ["relation", targetName, item.id] });
    if (isUsers) void queryClient.prefetchQuery(userQuery(item.id));
    onChange(item.id);
  };
  if (!isUsers && collections.data !== undefined && target === undefined) {
    return (
      <Input.Wrapper label={label} error={error} labelElement="div" classNames={{ label: classes["label"] ?? "" }}>
        <Dim size="sm">
          {text.editor.unknownCollection(targetName)} {id !== null && <span className="mono">{id}</span>}
        </Dim>
      </Input.Wrapper>
    );
  }
  const shown =
    id === null ? null : chosen.data !== undefined ? (
      <PickerName id={id} name={chosen.data.name} />
    ) : chosen.isError ? (
      <span className={`mono ${classes["pickerText"]}`}>{id}</span>
    ) : (
      <Skeleton height={14} width="60%" />
    );
  const picker = (
    <Picker
      name={field.name}
      chosen={shown}
      size={size}
      autoFocus={autoFocus}
      isInvalid={error !== undefined}
      isRequired={field.required === true}
      emptyText={props.emptyText}
      queryKey={["relation", targetName]}
      search={(words, signal) => (target === undefined ? Promise.resolve([]) : searchTarget(target, words, signal))}
      emptyNote={isUsers ? undefined : <NoTargets name={targetName} />}
      onPick={pick}
      rightSection={
        id === null ? null : (
          <Group gap={0} wrap="nowrap">
            {!isCompact(props) && <RelationActions field={field} id={id} chosen={chosen.data} />}
            {field.required !== true && <ClearButton field={field} onChange={onChange} />}
          </Group>
        )
      }
    />
  );
  const dangling = chosen.isError ? (isMissing(chosen.error) ? text.editor.dangling : messageOf(chosen.error)) : null;
  return (
    <Input.Wrapper
      ref={ref}
      label={label}
      error={error}
      description={isCompact(props) ? null : dangling}
      inputWrapperOrder={["label", "input", "description", "error"]}
      labelElement="div"
      classNames={{ label: classes["label"] ?? "", description: classes["warning"] ?? "" }}
    >
      {picker}
    </Input.Wrapper>
  );
}
