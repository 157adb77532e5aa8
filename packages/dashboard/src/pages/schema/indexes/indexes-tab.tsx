/** The indexes of a collection: indexes of the definition, automatic indexes, and the searched fields. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import {
  CloseButton,
  Group,
  MultiSelect,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import { DEFINITION_LIMITS, isIndexable, isSearchable, RECORD_TIMES, USERS } from "@socle/protocol";
import { useRef } from "react";
import { IconPlus, IconTrash } from "../../../icons/index.ts";
import { Action, CodeText, Complaint, Dim, IconAction } from "../../../kit/index.ts";
import { Sortable } from "../../../kit/sortable.tsx";
import { text } from "../../../texts/index.ts";
import type { Problem } from "../draft/checks.ts";
import { type IndexDraft, keptFields, refName, type SchemaDraft } from "../draft/draft.ts";
import { type Edit, moved } from "../draft/edits.ts";
import { isMultiple } from "../draft/rules.ts";
import { implicitIndexes } from "./implicit.ts";
import classes from "./indexes.module.css";

const words = text.schema.indexes;

interface IndexesTabProps {
  draft: SchemaDraft;
  apply: (edit: Edit) => void;
  problems: readonly Problem[];
}

export function IndexesTab({ draft, apply, problems }: IndexesTabProps) {
  const implicit = implicitIndexes(draft);
  return (
    <Stack gap="lg" p={{ base: 12, sm: 16 }} maw={860}>
      <Dim size="sm">{words.intro}</Dim>
      {draft.indexes.length === 0 ? (
        <Text size="sm">{words.none}</Text>
      ) : (
        <ol className={`plain ${classes["list"]}`} aria-label={words.list}>
          {draft.indexes.map((index, i) => (
            <IndexRow
              key={index.key}
              number={i + 1}
              index={index}
              draft={draft}
              apply={apply}
              problem={problems.find(({ key }) => key === index.key)?.message}
            />
          ))}
        </ol>
      )}
      <div>
        <Action
          icon={IconPlus}
          label={words.add}
          variant="light"
          disabled={draft.indexes.length >= DEFINITION_LIMITS.indexes}
          onClick={() => apply({ edit: "addIndex" })}
        />
      </div>
      <section aria-labelledby="implicit-indexes">
        <Title order={2} size="h6" id="implicit-indexes">
          {words.implicit}
        </Title>
        <Dim mb={8}>{words.implicitBody}</Dim>
        <ul className={`plain ${classes["implicit"]}`}>
          {implicit.map(({ name, reason }) => (
            <li key={`${name} ${reason}`}>
              <span className="mono">{name}</span> <span className="quiet">{reason}</span>
            </li>
          ))}
        </ul>
      </section>
      <SearchFields draft={draft} apply={apply} problem={problems.find(({ part }) => part === "search")?.message} />
      {draft.name !== USERS && <TrashTime draft={draft} apply={apply} />}
    </Stack>
  );
}

function IndexRow(props: {
  number: number;
  index: IndexDraft;
  draft: SchemaDraft;
  apply: (edit: Edit) => void;
  problem: string | undefined;
}) {
  const { number, index, draft, apply, problem } = props;
  const { key, refs, isUnique } = index;
  const picker = useRef<HTMLInputElement>(null);
  const free = [
    ...keptFields(draft)
      .filter((field) => isIndexable({ type: field.type, multiple: isMultiple(field) }) && field.name.trim() !== "")
      .map((field) => ({ value: field.key, label: field.name.trim() })),
    ...RECORD_TIMES.map((name) => ({ value: name, label: name })),
  ].filter(({ value }) => !refs.includes(value));
  const setRefs = (next: readonly string[]): void => apply({ edit: "changeIndex", key, refs: next });
  return (
    <li className={classes["item"]} aria-label={words.of(number)}>
      <Group gap={6}>
        <IndexFields
          draft={draft}
          refs={refs}
          number={number}
          onChange={setRefs}
          onEmptied={() => picker.current?.focus()}
        />
        {refs.length < DEFINITION_LIMITS.indexFields && (
          <Select
            ref={picker}
            size="xs"
            w={150}
            aria-label={words.addField(number)}
            placeholder={words.addFieldPlaceholder}
            data={free}
            value={null}
            onChange={(ref) => ref !== null && setRefs([...refs, ref])}
            searchable
            limit={200}
            nothingFoundMessage={words.nothingLeft}
          />
        )}
      </Group>
      <Group gap="md" wrap="nowrap" className={classes["tools"]}>
        <Tooltip label={words.uniqueHint}>
          <div>
            <Switch
              size="xs"
              label={words.unique}
              checked={isUnique}
              onChange={(event) => apply({ edit: "changeIndex", key, isUnique: event.currentTarget.checked })}
            />
          </div>
        </Tooltip>
        <IconAction
          size="md"
          icon={IconTrash}
          iconSize={16}
          label={words.remove(number)}
          onClick={() => apply({ edit: "removeIndex", key })}
        />
      </Group>
      {problem !== undefined && <Complaint size="xs">{problem}</Complaint>}
    </li>
  );
}

function SearchFields(props: { draft: SchemaDraft; apply: (edit: Edit) => void; problem: string | undefined }) {
  const { draft, apply, problem } = props;
  const texts = keptFields(draft)
    .filter((field) => isSearchable({ type: field.type, multiple: isMultiple(field) }) && field.name.trim() !== "")
    .map(({ key, name }) => ({ value: key, label: name.trim() }));
  // A dropped field, or a field that is no text any more, stays visible until the user removes the field.
  const gone = [...new Set(draft.search)]
    .filter((ref) => !texts.some(({ value }) => value === ref))
    .map((ref) => ({ value: ref, label: refName(draft, ref) }));
  return (
    <section aria-labelledby="searched-fields">
      <Title order={2} size="h6" id="searched-fields">
        {text.schema.search.title}
      </Title>
      <Dim mb={8}>
        <CodeText text={text.schema.search.body} />
      </Dim>
      <MultiSelect
        size="xs"
        maw={520}
        aria-label={text.schema.search.fields}
        placeholder={draft.search.length === 0 ? text.schema.search.none : ""}
        data={[...texts, ...gone]}
        value={[...new Set(draft.search)]}
        onChange={(refs) => apply({ edit: "search", refs })}
        maxValues={DEFINITION_LIMITS.searched}
        nothingFoundMessage={text.schema.search.noTexts}
        error={problem}
        hidePickedOptions
      />
    </section>
  );
}

function TrashTime({ draft, apply }: Pick<IndexesTabProps, "draft" | "apply">) {
  const trash = text.schema.trash;
  return (
    <section aria-labelledby="trash-time">
      <Title order={2} size="h6" id="trash-time">
        {trash.title}
      </Title>
      <Dim mb={8}>{trash.body}</Dim>
      <TextInput
        size="xs"
        w={150}
        aria-label={trash.time}
        placeholder={trash.none}
        value={draft.others.trash ?? ""}
        onChange={({ currentTarget: { value } }) => apply({ edit: "trash", time: value === "" ? null : value })}
      />
    </section>
  );
}

function IndexFields(props: {
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
