/** A choice of a closed set, by the words for its values. */
import { Select, type SelectProps } from "@mantine/core";

/** The values with their words, for a control with options. */
export function choicesOf<T extends string>(words: { readonly [value in T]: string }): { value: T; label: string }[] {
  // The keys of an object are strings: the type names them.
  return (Object.keys(words) as T[]).map((value) => ({ value, label: words[value] }));
}

interface ChoiceProps<T extends string>
  extends Omit<SelectProps, "data" | "value" | "onChange" | "clearable" | "allowDeselect"> {
  words: { readonly [value in T]: string };
  /** Null while no value is shown. */
  value: T | null;
  onChange: (value: T) => void;
}

export function Choice<T extends string>({ words, onChange, ...select }: ChoiceProps<T>) {
  const data = choicesOf(words);
  const choose = (next: string | null): void => {
    const found = data.find(({ value }) => value === next);
    if (found !== undefined) onChange(found.value);
  };
  return <Select size="xs" data={data} onChange={choose} allowDeselect={false} {...select} />;
}

interface FilterChoiceProps<T extends string> extends Pick<ChoiceProps<T>, "words" | "searchable" | "w"> {
  /** The accessible name. */
  label: string;
  /** Shown without a choice; also the name of the button that clears the choice. */
  anyLabel: string;
  value: T | undefined;
  onChange: (value: T | undefined) => void;
}

/** A filter of a list: a choice that may be absent. */
export function FilterChoice<T extends string>({ words, label, anyLabel, value, ...rest }: FilterChoiceProps<T>) {
  const { onChange, ...select } = rest;
  const data = choicesOf(words);
  return (
    <Select
      size="xs"
      w={150}
      maw="100%"
      aria-label={label}
      placeholder={anyLabel}
      data={data}
      value={value ?? null}
      onChange={(next) => onChange(data.find((each) => each.value === next)?.value)}
      limit={100}
      clearable
      clearButtonProps={{ "aria-label": anyLabel }}
      {...select}
    />
  );
}
