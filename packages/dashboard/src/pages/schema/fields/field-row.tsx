/** A field in the list: its name, its type, its badges; the options open below. */
import { useSortable } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { Badge, Checkbox, Text, TextInput, Tooltip, UnstyledButton } from "@mantine/core";
import { boundsOf, type FieldType } from "@socle/protocol";
import { type KeyboardEvent, memo, type RefObject, useEffect, useRef, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { IconArrowBackUp, IconChevronDown, IconChevronUp, IconGripVertical, IconTrash } from "../../../icons/index.ts";
import { Action, Dim, IconAction } from "../../../kit/index.ts";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import { isSame } from "../draft/change.ts";
import type { Problem } from "../draft/checks.ts";
import { type FieldDraft, fieldDraft, fieldOf } from "../draft/draft.ts";
import type { Edit, FieldPatch } from "../draft/edits.ts";
import { typesFor } from "../draft/rules.ts";
import { FieldOptions } from "./field-options.tsx";
import classes from "./fields.module.css";
import { TypeMenu } from "./type-menu.tsx";

interface FieldRowProps {
  field: FieldDraft;
  problems: readonly Problem[];
  targets: readonly string[];
  /** Names of the fields by which a sequence may count. */
  scopes: readonly string[];
  isNewCollection: boolean;
  isOpen: boolean;
  /** A new number moves the focus to the name; 0 never does. */
  focus: number;
  apply: (edit: Edit) => void;
  onToggle: (key: string) => void;
  /** Moves the focus to the next field; after the last field, adds a field. */
  onNext: (key: string) => void;
  onAddAfter: (key: string) => void;
  onRemove: (key: string) => void;
}

const words = text.schema.fields;

function isSameRow(a: FieldRowProps, b: FieldRowProps): boolean {
  const { problems: ours, ...rest } = a;
  const { problems: theirs, ...others } = b;
  return (
    ours.length === theirs.length &&
    ours.every(({ message, part }, i) => message === theirs[i]?.message && part === theirs[i]?.part) &&
    rest.field === others.field &&
    rest.targets === others.targets &&
    rest.scopes === others.scopes &&
    rest.isOpen === others.isOpen &&
    rest.focus === others.focus &&
    rest.isNewCollection === others.isNewCollection &&
    rest.onNext === others.onNext
  );
}

export const FieldRow = memo(function FieldRow(props: FieldRowProps) {
  const { field, problems, isOpen, focus, apply, onToggle, onNext, isNewCollection } = props;
  const { key } = field;
  const { attributes, listeners, setNodeRef, setActivatorNodeRef, transform, transition, isDragging } = useSortable({
    id: key,
    disabled: field.isDropped,
  });
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [wasClosed, setClosed] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (focus > 0) input.current?.focus();
  }, [focus]);

  const label = field.name.trim() === "" ? words.unnamed : field.name.trim();
  const status = fieldStatus(field);
  const nameProblem = problems.find(({ part, message }) => part === "name" && message !== "")?.message;
  // A missing target is no mistake before the user has closed the options.
  const isTargetShown = field.stored !== null || field.collection !== "" || wasClosed;
  const hidden = problems.filter(({ part }) => part !== "name" && (part !== "collection" || isTargetShown));
  const patch = (change: FieldPatch): void => apply({ edit: "changeField", key, patch: change });

  const entered = (): void => {
    if (field.stored === null && !field.isTypeChosen) setMenuOpen(true);
    else onNext(key);
  };
  const picked = (type: FieldType): void => {
    const wasChosen = field.isTypeChosen;
    patch({ type, isTypeChosen: true });
    // A relation needs its target first.
    if (type === "relation" && !isOpen) onToggle(key);
    else if (!wasChosen && field.name.trim() !== "") onNext(key);
    else requestAnimationFrame(() => input.current?.focus());
  };

  return (
    <li
      ref={setNodeRef}
      className={classes["item"]}
      data-status={status}
      data-dragging={isDragging || undefined}
      style={{ transform: CSS.Translate.toString(transform && { ...transform, x: 0 }), transition }}
    >
      <div className={classes["row"]}>
        <span className={classes["icon"]}>
          <TypeIcon type={field.type} size={16} />
        </span>
        <Name field={field} label={label} problem={nameProblem} input={input} onPatch={patch} onEnter={entered} />
        <Type
          field={field}
          label={label}
          isOpen={isMenuOpen}
          onToggle={setMenuOpen}
          onPick={picked}
          onDismiss={() => input.current?.focus()}
        />
        <Badges
          field={field}
          label={label}
          problem={isOpen ? undefined : hidden[0]?.message}
          isNewCollection={isNewCollection}
          onPatch={patch}
        />
        <RowActions {...props} label={label} />
        <IconAction
          ref={setActivatorNodeRef}
          {...attributes}
          {...listeners}
          className={classes["handle"]}
          variant="transparent"
          icon={IconGripVertical}
          iconSize={16}
          label={words.drag(label)}
          disabled={field.isDropped}
        />
      </div>
      {isOpen && !field.isDropped && (
        <FieldOptions
          field={field}
          problems={[...hidden]}
          targets={props.targets}
          scopes={props.scopes}
          onPatch={patch}
          onTargetLeft={() => setClosed(true)}
          onTarget={() => onNext(key)}
          onAddLike={() => props.onAddAfter(key)}
        />
      )}
    </li>
  );
}, isSameRow);

interface PartProps {
  field: FieldDraft;
  /** The name, or words for a field without a name. */
  label: string;
  onPatch: (change: FieldPatch) => void;
}

function Name(
  props: PartProps & { problem: string | undefined; input: RefObject<HTMLInputElement | null>; onEnter: () => void },
) {
  const { field, label, problem, input, onPatch, onEnter } = props;
  const [wasLeft, setLeft] = useState(false);
  // An empty name is no mistake before the user leaves the input.
  const isProblemShown = field.name !== "" || wasLeft;
  const pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // In a row without a name, the user types the name first.
    if (field.name.trim() !== "") onEnter();
  };
  if (field.isDropped)
    return (
      <Text className={`cut ${classes["droppedName"]}`} size="sm">
        {label}
      </Text>
    );
  return (
    <TextInput
      ref={input}
      data-field-name
      variant="unstyled"
      size="sm"
      className={classes["name"]}
      classNames={{ input: classes["nameInput"] }}
      value={field.name}
      placeholder={words.namePlaceholder}
      aria-label={field.name.trim() === "" ? words.name : words.nameOf(field.name.trim())}
      error={isProblemShown ? problem : undefined}
      onChange={(event) => onPatch({ name: event.currentTarget.value })}
      onBlur={() => setLeft(true)}
      onKeyDown={pressed}
      spellCheck={false}
      autoComplete="off"
      autoCapitalize="off"
      maxLength={200}
    />
  );
}

type TypeProps = Omit<PartProps, "onPatch"> & Omit<Parameters<typeof TypeMenu>[0], "types" | "current" | "children">;

function Type({ field, label, isOpen, onToggle, onPick, onDismiss }: TypeProps) {
  const types = typesFor(field);
  if (types.length === 1)
    return (
      <Tooltip label={words.typeFixed} multiline w={300}>
        <Dim size="sm" className={classes["type"]}>
          {kinds[field.type].words.label}
        </Dim>
      </Tooltip>
    );
  return (
    <TypeMenu
      isOpen={isOpen}
      onToggle={onToggle}
      types={types}
      current={field.type}
      onPick={onPick}
      onDismiss={onDismiss}
    >
      <UnstyledButton className={classes["typeButton"]} aria-label={words.typeOf(label, kinds[field.type].words.label)}>
        {kinds[field.type].words.label}
        <IconChevronDown size={13} aria-hidden />
      </UnstyledButton>
    </TypeMenu>
  );
}

function Badges(props: PartProps & { problem: string | undefined; isNewCollection: boolean }) {
  const { field, label, problem, isNewCollection, onPatch } = props;
  return (
    <div className={classes["badges"]}>
      {!field.isDropped && (
        <Checkbox
          size="xs"
          mr={8}
          label={words.required}
          aria-label={words.requiredOf(label)}
          checked={field.isRequired}
          onChange={(event) => onPatch({ isRequired: event.currentTarget.checked })}
        />
      )}
      {problem !== undefined && !field.isDropped && (
        <Badge size="sm" variant="light" color="red" tt="none" fw={500}>
          {problem}
        </Badge>
      )}
      {badgesOf(field, isNewCollection)
        .filter(({ label: badge }) => badge !== words.badges.required)
        .map(({ label: badge, tone }) => (
          <Badge key={badge} size="sm" variant="outline" className={classes["badge"]} data-tone={tone}>
            {badge}
          </Badge>
        ))}
    </div>
  );
}

function RowActions(props: FieldRowProps & { label: string }) {
  const { field, label, isOpen, apply, onToggle, onRemove } = props;
  if (field.isDropped) {
    return (
      <div className={classes["actions"]}>
        <Action
          icon={IconArrowBackUp}
          size="compact-xs"
          label={words.restoreShort}
          aria-label={words.restore(label)}
          onClick={() => apply({ edit: "restoreField", key: field.key })}
        />
      </div>
    );
  }
  return (
    <div className={classes["actions"]}>
      <IconAction
        tip={words.options(label)}
        icon={isOpen ? IconChevronUp : IconChevronDown}
        iconSize={16}
        label={words.options(label)}
        className="quiet"
        size="md"
        aria-expanded={isOpen}
        onClick={() => onToggle(field.key)}
      />
      <IconAction
        tip={words.remove(label)}
        icon={IconTrash}
        iconSize={16}
        label={words.remove(label)}
        className="quiet"
        size="md"
        onClick={() => onRemove(field.key)}
      />
    </div>
  );
}

/** The difference of a field from the stored field. */
export function fieldStatus(field: FieldDraft): "new" | "dropped" | "changed" | "stored" {
  if (field.stored === null) return "new";
  if (field.isDropped) return "dropped";
  return isSame(fieldOf(field), fieldOf(fieldDraft("", field.stored, field.stored))) ? "stored" : "changed";
}

/** The badges of a field. The page cuts a long pattern or name; a long number is shortened here. */
function badgesOf(field: FieldDraft, isNewCollection: boolean) {
  const { stored } = field;
  const definition = fieldOf(field);
  const { collection, onDelete, sequence, values, min, max } = definition;
  const bounds = boundsOf(definition) ?? "value";
  const badges: { label: string; tone: "rule" | "new" | "changed" | "drop" }[] = [];
  const rule = (label: string): void => {
    badges.push({ label, tone: "rule" });
  };
  const status = fieldStatus(field);
  if (status === "dropped") badges.push({ label: words.willDrop, tone: "drop" });
  if (status === "new" && !isNewCollection) badges.push({ label: words.new, tone: "new" });
  if (status === "changed") {
    const isRenamed = stored !== null && stored.name !== field.name.trim();
    badges.push({ label: isRenamed ? words.renamed(stored.name) : words.changed, tone: "changed" });
  }
  if (collection !== undefined) rule(words.badges.target(collection));
  if (definition.multiple) rule(words.badges.multiple);
  if (definition.owner) rule(words.badges.owner);
  if (onDelete !== undefined) rule(words.badges.onDelete[onDelete]);
  if (definition.required) rule(words.badges.required);
  if (definition.unique) rule(definition.unique === "nocase" ? words.badges.ignoresCase : words.badges.unique);
  if (definition.dimensions !== undefined) rule(words.badges.dimensions(definition.dimensions));
  if (definition.format !== undefined) rule(words.formats[definition.format]);
  if (definition.default !== undefined) rule(words.badges.default(field.default?.slice(0, 20) ?? ""));
  if (definition.permissions !== undefined) rule(words.badges.rules);
  if (sequence !== undefined) rule(words.badges.sequence);
  if (values !== undefined) rule(words.badges.values(values.length));
  if (min !== undefined) rule(words.badges.min[bounds](String(min)));
  if (max !== undefined) rule(words.badges.max[bounds](String(max)));
  if (definition.regex !== undefined) rule(words.badges.pattern);
  return badges;
}
