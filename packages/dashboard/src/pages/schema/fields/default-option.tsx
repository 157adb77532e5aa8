/** The default of a field: a switch, and the value; and the switch for options that are on or off. */
import { MultiSelect, Select, Stack, Switch, type SwitchProps, TagsInput, TextInput } from "@mantine/core";
import { text } from "../../../texts/index.ts";
import { defaultItems, firstDefault } from "../draft/defaults.ts";
import type { FieldDraft } from "../draft/draft.ts";
import type { FieldPatch } from "../draft/edits.ts";
import { isMultiple, valuesOf } from "../draft/rules.ts";

const words = text.schema.fields;

interface DefaultOptionProps {
  field: FieldDraft;
  problem: string | undefined;
  onPatch: (patch: FieldPatch) => void;
}

export function DefaultOption(props: DefaultOptionProps) {
  const { field, onPatch } = props;
  const { type, default: typed } = field;
  return (
    <Stack gap={6}>
      <Flag
        label={type === "relation" ? words.callerDefault : words.default}
        hint={words.defaultHint}
        isOn={typed !== null}
        onChange={(isOn) => onPatch({ default: isOn ? firstDefault(field, valuesOf(field)) : null })}
      />
      {typed !== null && type !== "relation" && <DefaultValue {...props} typed={typed} />}
    </Stack>
  );
}

function DefaultValue({ field, typed, problem, onPatch }: DefaultOptionProps & { typed: string }) {
  const { type } = field;
  const values = type === "boolean" ? ["true", "false"] : valuesOf(field);
  if (isMultiple(field)) {
    const items = defaultItems(field, typed);
    const shared = {
      size: "xs",
      maw: 420,
      "aria-label": words.defaultValue,
      value: items,
      error: problem,
      onChange: (next: string[]) => onPatch({ default: JSON.stringify(next) }),
    } as const;
    return values.length > 0 ? (
      <MultiSelect {...shared} data={[...new Set([...values, ...items])]} />
    ) : (
      <TagsInput {...shared} placeholder={items.length === 0 ? words.defaultItem : ""} />
    );
  }
  if (values.length > 0)
    return (
      <Select
        size="xs"
        maw={260}
        aria-label={words.defaultValue}
        data={values.includes(typed) ? values : [typed, ...values]}
        value={typed}
        error={problem}
        allowDeselect={false}
        onChange={(next) => next !== null && onPatch({ default: next })}
      />
    );
  return (
    <TextInput
      size="xs"
      maw={420}
      aria-label={words.defaultValue}
      description={type === "datetime" ? words.nowHint : undefined}
      inputWrapperOrder={["label", "input", "description", "error"]}
      value={typed}
      error={problem}
      classNames={["json", "geo", "vector"].includes(type) ? { input: "mono" } : {}}
      onChange={(event) => onPatch({ default: event.currentTarget.value })}
    />
  );
}

interface FlagProps extends Omit<SwitchProps, "description" | "checked" | "onChange"> {
  hint: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

export function Flag({ hint, isOn, onChange, ...flag }: FlagProps) {
  return (
    <Switch
      size="xs"
      description={hint}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
      {...flag}
    />
  );
}
