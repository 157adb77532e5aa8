/** The form of a condition: field, operator, value. */
import { Button, Group, Select, Skeleton, Stack, TextInput } from "@mantine/core";
import type { FieldDefinition } from "@socle/protocol";
import { IconCalendar } from "@tabler/icons-react";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { kinds } from "../../../fields/index.ts";
import { systemFields } from "../../../kit/expression/index.ts";
import { IconAction } from "../../../kit/icon-action.tsx";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import { type Condition, conditionFrom, type Operator, operatorOf, operatorsFor, textOf } from "./builder.ts";

const DayPicker = lazy(async () => ({ default: (await import("./day-picker.tsx")).DayPicker }));

export function ConditionForm(props: {
  fields: readonly FieldDefinition[];
  /** The condition to change. */
  condition?: Condition | undefined;
  /** The field at the end of a path through relations, or the json field with the path inside. */
  fieldOf: (path: string) => FieldDefinition | undefined;
  onSubmit: (condition: Condition) => void;
  onRemove?: (() => void) | undefined;
}) {
  const { fields, condition, fieldOf, onSubmit, onRemove } = props;
  const all = [...fields, ...systemFields];
  const [path, setPath] = useState(condition?.path ?? all[0]?.name ?? "id");
  const at = (name: string): FieldDefinition =>
    all.find((field) => field.name === name) ?? fieldOf(name) ?? { name, type: "string" };
  const field = at(path);
  const { type } = field;
  const [operator, setOperator] = useState<Operator>(
    condition === undefined ? firstOperator(field) : operatorOf(condition),
  );
  const [value, setValue] = useState(condition === undefined ? initialText(field) : textOf(condition));
  const [isTried, setTried] = useState(false);
  const hasValue = operator !== "isNull" && operator !== "isNotNull";
  const made = conditionFrom(path, type, { operator, text: value });

  const choosePath = (next: string): void => {
    const nextField = at(next);
    setPath(next);
    if (!operatorsFor(nextField).includes(operator)) setOperator(firstOperator(nextField));
    const isAlike = nextField.type === type && nextField.values === undefined && field.values === undefined;
    if (!isAlike) setValue(initialText(nextField));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // The form is nested in the page's React tree: a form around this form must not get the event.
    event.stopPropagation();
    setTried(true);
    if (made !== null) onSubmit(made);
  };
  const paths = all.map(({ name }) => name);
  const usual = operatorsFor(field);
  const operators = usual.includes(operator) ? usual : [operator, ...usual];
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" p="xs">
        <FieldSelect
          paths={paths.includes(path) ? paths : [path, ...paths]}
          path={path}
          type={type}
          onChange={choosePath}
          autoFocus={condition === undefined}
        />
        <Select
          size="xs"
          label={text.records.operator}
          data={operators.map((each) => ({
            value: each,
            label: operatorText(each, field),
          }))}
          value={operator}
          onChange={(next) => {
            const found = operators.find((each) => each === next);
            if (found !== undefined) setOperator(found);
          }}
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
        />
        {hasValue && (
          <ValueControl
            field={field}
            isList={operator === "in"}
            value={value}
            onChange={setValue}
            error={isTried && made === null ? kinds[type].words.wanted : undefined}
          />
        )}
        <Group justify="space-between" mt={4}>
          {onRemove === undefined ? (
            <span />
          ) : (
            <Button size="compact-sm" variant="subtle" color="gray" onClick={onRemove}>
              {text.records.removeCondition}
            </Button>
          )}
          <Button size="compact-sm" type="submit">
            {text.records.apply}
          </Button>
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
export function operatorText(operator: Operator, field: FieldDefinition | undefined): string {
  const ofItems: { readonly [operator in Operator]?: string } = text.records.itemOperators;
  return (field?.multiple === true ? ofItems[operator] : undefined) ?? text.records.operators[operator];
}

function firstOperator(field: FieldDefinition): Operator {
  return operatorsFor(field)[0] ?? "=";
}

function initialText({ type, values }: FieldDefinition): string {
  return values?.[0] ?? (type === "boolean" ? "true" : "");
}

function ValueControl(props: {
  field: FieldDefinition;
  isList: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  const { field, isList, value, onChange, error } = props;
  const { type } = field;
  const choices = type === "boolean" ? ["true", "false"] : field.values;
  if (choices !== undefined && !isList) {
    return (
      <Select
        size="xs"
        label={text.records.value}
        data={choices}
        value={value}
        onChange={(next) => next !== null && onChange(next)}
        allowDeselect={false}
        comboboxProps={{ withinPortal: false }}
        error={error}
      />
    );
  }
  if (type === "datetime" && !isList) return <TimeControl value={value} onChange={onChange} error={error} />;
  return (
    <TextInput
      size="xs"
      label={text.records.value}
      description={isList ? text.records.listHint : undefined}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      inputMode={kinds[type].isNumber ? "decimal" : undefined}
      autoComplete="off"
      data-autofocus
    />
  );
}

/** A typed time, with a calendar that unfolds below the input. */
function TimeControl(props: { value: string; onChange: (value: string) => void; error: string | undefined }) {
  const { value, onChange, error } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <TextInput
        size="xs"
        label={text.records.value}
        description={text.records.timeHint}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        autoComplete="off"
        data-autofocus
        rightSection={
          <IconAction
            icon={IconCalendar}
            label={text.records.pickDay}
            onClick={() => setOpen(!isOpen)}
            aria-expanded={isOpen}
          />
        }
      />
      {isOpen && (
        <Suspense fallback={<Skeleton height={220} />}>
          <DayPicker value={value} onChange={onChange} />
        </Suspense>
      )}
    </>
  );
}
