/** The form of one condition: field, operator, value. */
import { ActionIcon, Button, Group, Select, Skeleton, Stack, TextInput } from "@mantine/core";
import type { FieldDefinition } from "@socle/protocol";
import { IconCalendar } from "@tabler/icons-react";
import { type FormEvent, lazy, Suspense, useState } from "react";
import { systemFields } from "../../../kit/expression/index.ts";
import { TypeIcon } from "../../../kit/type-icon.tsx";
import { text } from "../../../texts/index.ts";
import { type Condition, conditionFrom, type Operator, operatorOf, operatorsFor, textOf } from "./builder.ts";

const DayPicker = lazy(async () => ({ default: (await import("./day-picker.tsx")).DayPicker }));

export function ConditionForm(props: {
  fields: readonly FieldDefinition[];
  /** The one that is changed. */
  condition?: Condition | undefined;
  /** The field at the end of a path through relations, or that holds its json. */
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
    // The form stands in the page's own tree: a form around it is not meant.
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
        <Select
          size="xs"
          label={text.records.field}
          data={paths.includes(path) ? paths : [path, ...paths]}
          value={path}
          onChange={(next) => next !== null && choosePath(next)}
          searchable
          allowDeselect={false}
          comboboxProps={{ withinPortal: false }}
          leftSection={<TypeIcon type={type} isKey={path === "id"} />}
          maxDropdownHeight={220}
          data-autofocus={condition === undefined || undefined}
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
            error={isTried && made === null ? text.records.valueWanted[type] : undefined}
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

/** An operator in words. Of a field with several items it is about some of them, or none. */
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
      inputMode={type === "integer" || type === "float" ? "decimal" : undefined}
      autoComplete="off"
      data-autofocus
    />
  );
}

/** A time as it is typed, with a calendar that is folded out below it. */
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
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            onClick={() => setOpen(!isOpen)}
            aria-expanded={isOpen}
            aria-label={text.records.pickDay}
          >
            <IconCalendar size={15} />
          </ActionIcon>
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
