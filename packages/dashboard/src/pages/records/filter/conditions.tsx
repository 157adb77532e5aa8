/** Conditions as chips, the button that adds a condition, and the form of a condition: field, operator, value. */
import { CloseButton, Group, Popover, Select, Skeleton, Stack, TextInput, UnstyledButton } from "@mantine/core";
import type { FieldDefinition } from "@socle/protocol";
import { type FormEvent, type KeyboardEvent, lazy, type ReactNode, Suspense, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { IconCalendar, IconFilter } from "../../../icons/index.ts";
import { Action } from "../../../kit/action.tsx";
import { systemFields } from "../../../kit/expression/index.ts";
import { IconAction } from "../../../kit/icon-action.tsx";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import { type Condition, conditionFrom, type Operator, operatorOf, operatorsFor, textOf } from "./builder.ts";
import classes from "./filter-bar.module.css";

type FormProps = Pick<ConditionFormProps, "fields" | "fieldOf">;

interface ConditionPopoverProps extends ConditionFormProps {
  label: string;
  /** Draws the button that opens the form. */
  target: (toggle: () => void) => ReactNode;
}

function ConditionPopover({ label, target, ...form }: ConditionPopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const { onSubmit, onRemove } = form;
  const close = (): void => setOpen(false);
  // The popover alone would close on the Escape of an open list inside, too.
  const closeByKey = (event: KeyboardEvent): void => {
    const control = event.target instanceof Element ? event.target : null;
    const isOfList = control?.getAttribute("data-mantine-stop-propagation") === "true";
    if (event.key === "Escape" && !isOfList) close();
  };
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-start"
      width={260}
      trapFocus
      shadow="md"
      returnFocus
      closeOnEscape={false}
    >
      <Popover.Target>{target(() => setOpen(!isOpen))}</Popover.Target>
      <Popover.Dropdown p={4} aria-label={label} onKeyDownCapture={closeByKey}>
        <ConditionForm
          {...form}
          onSubmit={(condition) => {
            close();
            onSubmit(condition);
          }}
          {...(onRemove !== undefined && {
            onRemove: () => {
              close();
              onRemove();
            },
          })}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

export function AddCondition({ onAdd, ...form }: FormProps & { onAdd: (condition: Condition) => void }) {
  return (
    <ConditionPopover
      {...form}
      label={text.records.addFilter}
      onSubmit={onAdd}
      target={(toggle) => (
        <Action
          icon={IconFilter}
          label={text.records.addFilter}
          size="compact-sm"
          isQuiet
          onClick={toggle}
          className={classes["add"]}
        />
      )}
    />
  );
}

export function ConditionChip(
  props: FormProps & { condition: Condition; onChange: (next: Condition) => void; onRemove: () => void },
) {
  const { condition, onChange, onRemove, fields, fieldOf } = props;
  const operator = operatorOf(condition);
  const isValueless = operator === "isNull" || operator === "isNotNull";
  const value = isValueless ? "" : textOf(condition).slice(0, 60) || '""';
  const field = fields.find(({ name }) => name === condition.path) ?? fieldOf(condition.path);
  const words = operatorText(operator, field);
  const label = `${condition.path} ${words} ${value}`.trim();
  const edit = text.records.editCondition(label);
  return (
    <span className={classes["chip"]}>
      <ConditionPopover
        {...{ fields, fieldOf, condition, onRemove }}
        label={edit}
        onSubmit={onChange}
        target={(toggle) => (
          <UnstyledButton className={classes["chipText"]} onClick={toggle} aria-label={edit}>
            <span>{condition.path}</span> <span className="quiet">{words}</span>{" "}
            {value !== "" && <span className={`cut ${classes["chipValue"]}`}>{value}</span>}
          </UnstyledButton>
        )}
      />
      <CloseButton size="xs" onClick={onRemove} aria-label={text.records.removeNamed(label)} />
    </span>
  );
}

const DayPicker = lazy(async () => ({ default: (await import("./day-picker.tsx")).DayPicker }));

interface ConditionFormProps {
  fields: readonly FieldDefinition[];
  /** The condition to change. */
  condition?: Condition;
  /** The field at the end of a path through relations, or the json field with the path inside. */
  fieldOf: (path: string) => FieldDefinition | undefined;
  onSubmit: (condition: Condition) => void;
  onRemove?: () => void;
}

/** The field, the operator and the value in the form. A choice of a field keeps the other parts as far as possible. */
function useCondition({ fields, condition, fieldOf }: ConditionFormProps) {
  const all = [...fields, ...systemFields];
  const at = (name: string): FieldDefinition =>
    all.find((field) => field.name === name) ?? fieldOf(name) ?? { name, type: "string" };
  const [path, setPath] = useState(condition?.path ?? all[0]?.name ?? "id");
  const field = at(path);
  const [operator, setOperator] = useState(condition === undefined ? firstOperator(field) : operatorOf(condition));
  const [value, setValue] = useState(condition === undefined ? initialText(field) : textOf(condition));
  const choosePath = (next: string): void => {
    const nextField = at(next);
    setPath(next);
    if (!operatorsFor(nextField).includes(operator)) setOperator(firstOperator(nextField));
    const isAlike = nextField.type === field.type && nextField.values === undefined && field.values === undefined;
    if (!isAlike) setValue(initialText(nextField));
  };
  const names = all.map(({ name }) => name);
  const usual = operatorsFor(field);
  return {
    ...{ path, field, choosePath, operator, setOperator, value, setValue },
    paths: names.includes(path) ? names : [path, ...names],
    operators: usual.includes(operator) ? usual : [operator, ...usual],
    made: conditionFrom(path, field.type, { operator, text: value }),
  };
}

function ConditionForm(props: ConditionFormProps) {
  const { condition, onSubmit, onRemove } = props;
  const { path, field, choosePath, operator, setOperator, value, setValue, ...form } = useCondition(props);
  const [isTried, setTried] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // The form is nested in the page's React tree: a form around this form must not get the event.
    event.stopPropagation();
    setTried(true);
    if (form.made !== null) onSubmit(form.made);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" p="xs">
        <FieldSelect
          paths={form.paths}
          path={path}
          type={field.type}
          onChange={choosePath}
          autoFocus={condition === undefined}
        />
        <Select
          size="xs"
          label={text.records.operator}
          data={form.operators.map((each) => ({ value: each, label: operatorText(each, field) }))}
          value={operator}
          onChange={(next) => next !== null && setOperator(next)}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        {operator !== "isNull" && operator !== "isNotNull" && (
          <ValueControl
            field={field}
            isList={operator === "in"}
            value={value}
            onChange={setValue}
            error={isTried && form.made === null ? kinds[field.type].words.wanted : undefined}
          />
        )}
        <Group justify="space-between" mt={4}>
          {onRemove === undefined ? (
            <span />
          ) : (
            <Action label={text.records.removeCondition} size="compact-sm" isQuiet onClick={onRemove} />
          )}
          <Action label={text.records.apply} size="compact-sm" type="submit" variant="filled" />
        </Group>
      </Stack>
    </form>
  );
}

/** The picker of a field. An open list begins with an empty search, so that the first letter searches all fields. */
function FieldSelect(props: {
  paths: readonly string[];
  path: string;
  type: FieldDefinition["type"];
  onChange: (path: string) => void;
  autoFocus: boolean;
}) {
  const { paths, path, type, onChange, autoFocus } = props;
  const [search, setSearch] = useState(path);
  const [isOpen, setOpen] = useState(false);
  return (
    <Select
      size="xs"
      label={text.records.field}
      data={[...paths]}
      value={path}
      onChange={(next) => next !== null && onChange(next)}
      searchable
      searchValue={search}
      onSearchChange={(next) => setSearch(isOpen || next === path ? next : next.replace(path, ""))}
      onDropdownOpen={() => {
        setSearch((now) => (now === path ? "" : now));
        setOpen(true);
      }}
      onDropdownClose={() => {
        setSearch(path);
        setOpen(false);
      }}
      selectFirstOptionOnChange
      placeholder={path}
      nothingFoundMessage={text.records.noField}
      // Enter in an open list without a match must not apply the condition.
      onKeyDown={(event) => event.key === "Enter" && isOpen && event.preventDefault()}
      allowDeselect={false}
      comboboxProps={{ withinPortal: false }}
      leftSection={<TypeIcon type={type} isKey={path === "id"} />}
      maxDropdownHeight={220}
      data-autofocus={autoFocus || undefined}
    />
  );
}

/** An operator in words. For a multiple field, the words are about some or no items. */
function operatorText(operator: Operator, field: FieldDefinition | undefined): string {
  const ofItems: { readonly [operator in Operator]?: string } = text.records.itemOperators;
  return (field?.multiple === true ? ofItems[operator] : undefined) ?? text.records.operators[operator];
}

function firstOperator(field: FieldDefinition): Operator {
  return operatorsFor(field)[0] ?? "=";
}

function initialText({ type, values }: FieldDefinition): string {
  return values?.[0] ?? kinds[type].choices?.[0] ?? "";
}

interface ValueControlProps {
  field: FieldDefinition;
  isList: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function ValueControl({ field, isList, value, onChange, error }: ValueControlProps) {
  const { type } = field;
  const [isOpen, setOpen] = useState(false);
  const shared = { size: "xs", label: text.records.value, value, error } as const;
  const choices = kinds[type].choices ?? field.values;
  if (choices !== undefined && !isList) {
    return (
      <Select
        {...shared}
        data={[...choices]}
        onChange={(next) => next !== null && onChange(next)}
        allowDeselect={false}
        comboboxProps={{ withinPortal: false }}
      />
    );
  }
  // A calendar unfolds below a typed time.
  const isTime = type === "datetime" && !isList;
  const calendar = (
    <IconAction
      icon={IconCalendar}
      label={text.records.pickDay}
      onClick={() => setOpen(!isOpen)}
      aria-expanded={isOpen}
    />
  );
  return (
    <>
      <TextInput
        {...shared}
        description={isTime ? text.records.timeHint : isList ? text.records.listHint : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
        inputMode={kinds[type].isNumber ? "decimal" : undefined}
        autoComplete="off"
        data-autofocus
        rightSection={isTime && calendar}
      />
      {isTime && isOpen && (
        <Suspense fallback={<Skeleton height={220} />}>
          <DayPicker value={value} onChange={onChange} />
        </Suspense>
      )}
    </>
  );
}
