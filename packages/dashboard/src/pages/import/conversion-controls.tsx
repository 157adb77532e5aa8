/** The conversion of the cells of a field: the options for the type of the field. */
import { Select, Stack } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { Choice, Dim } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { takesDefault } from "./mapping/convert.ts";
import { type Conversion, type FieldMapping, relationKeys } from "./mapping/mapping.ts";

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = [...new Set(["UTC", ownZone, ...Intl.supportedValuesOf("timeZone")])];

interface ConversionProps {
  mapping: FieldMapping;
  collections: readonly CollectionEntry[];
  onChange: (mapping: FieldMapping) => void;
}

export function ConversionControls(props: ConversionProps) {
  const { field, conversion } = props.mapping;
  if (field.multiple !== true) return <ValueConversion {...props} />;
  return (
    <Stack gap={4}>
      <Choice
        aria-label={text.import.separatorOf(field.name)}
        words={text.import.separators}
        value={conversion.separator}
        onChange={(separator) => props.onChange({ ...props.mapping, conversion: { ...conversion, separator } })}
      />
      {field.type === "relation" && <ValueConversion {...props} />}
    </Stack>
  );
}

function ValueConversion({ mapping, collections, onChange }: ConversionProps) {
  const { field, conversion } = mapping;
  const { name, type } = field;
  const set = (change: Partial<Conversion>): void => onChange({ ...mapping, conversion: { ...conversion, ...change } });
  if (type === "boolean" || type === "json" || type === "file") return <Dim>{text.import.hints[type]}</Dim>;
  if (type === "datetime") return <DateConversion name={name} conversion={conversion} onChange={set} />;
  if (type === "string" || type === "text") {
    const empty = takesDefault(field) ? text.import.emptyDefault : text.import.emptyNull;
    return (
      <Choice
        aria-label={text.import.emptyOf(name)}
        words={{ null: empty, text: text.import.emptyText }}
        value={conversion.empty}
        onChange={(next) => set({ empty: next })}
      />
    );
  }
  if (type === "relation") {
    const keys = relationKeys(field.collection, collections).slice(1);
    return (
      <Choice
        aria-label={text.import.relationOf(name)}
        words={{ id: text.import.byId, ...Object.fromEntries(keys.map((key) => [key, text.import.byField(key)])) }}
        value={conversion.relationBy}
        onChange={(relationBy) => set({ relationBy })}
      />
    );
  }
  return (
    <Choice
      aria-label={text.import.commaOf(name)}
      words={{ point: text.import.decimalPoint, comma: text.import.decimalComma }}
      value={conversion.decimalComma ? "comma" : "point"}
      onChange={(chosen) => set({ decimalComma: chosen === "comma" })}
    />
  );
}

function DateConversion(props: {
  name: string;
  conversion: Conversion;
  onChange: (change: Partial<Conversion>) => void;
}) {
  const { name, conversion, onChange } = props;
  return (
    <Stack gap={4}>
      <Choice
        rightSectionWidth={24}
        aria-label={text.import.orderOf(name)}
        words={text.import.orders}
        value={conversion.dateOrder}
        onChange={(dateOrder) => onChange({ dateOrder })}
      />
      <Select
        size="xs"
        rightSectionWidth={24}
        aria-label={text.import.zoneOf(name)}
        searchable
        limit={60}
        allowDeselect={false}
        data={zones}
        value={conversion.timeZone}
        onChange={(timeZone) => timeZone !== null && onChange({ timeZone })}
        comboboxProps={{ width: 220 }}
      />
    </Stack>
  );
}
