/** The conversion of the cells of a field: the options for the type of the field. */
import { Select, Stack } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { Dim } from "../../kit/words.tsx";
import { text } from "../../texts/index.ts";
import { takesDefault } from "./mapping/convert.ts";
import { type Conversion, DATE_ORDERS, type FieldMapping, relationKeys, SEPARATORS } from "./mapping/mapping.ts";

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
      <Select
        size="xs"
        aria-label={text.import.separatorOf(field.name)}
        allowDeselect={false}
        data={SEPARATORS.map((separator) => ({ value: separator, label: text.import.separators[separator] }))}
        value={conversion.separator}
        onChange={(separator) =>
          separator !== null && props.onChange({ ...props.mapping, conversion: { ...conversion, separator } })
        }
      />
      {field.type === "relation" && <ValueConversion {...props} />}
    </Stack>
  );
}

function ValueConversion(props: ConversionProps) {
  const { mapping, collections, onChange } = props;
  const { field, conversion } = mapping;
  const set = (change: Partial<Conversion>): void => onChange({ ...mapping, conversion: { ...conversion, ...change } });
  const hint = (words: string) => <Dim>{words}</Dim>;

  if (field.type === "boolean") return hint(text.import.booleanHint);
  if (field.type === "json") return hint(text.import.jsonHint);
  if (field.type === "file") return hint(text.import.fileHint);
  if (field.type === "string" || field.type === "text") {
    return (
      <Select
        size="xs"
        aria-label={text.import.emptyOf(field.name)}
        allowDeselect={false}
        data={[
          { value: "null", label: takesDefault(field) ? text.import.emptyDefault : text.import.emptyNull },
          { value: "text", label: text.import.emptyText },
        ]}
        value={conversion.empty}
        onChange={(empty) => empty !== null && set({ empty })}
      />
    );
  }
  if (field.type === "integer" || field.type === "float") {
    return (
      <Select
        size="xs"
        aria-label={text.import.commaOf(field.name)}
        allowDeselect={false}
        data={[
          { value: "point", label: text.import.decimalPoint },
          { value: "comma", label: text.import.decimalComma },
        ]}
        value={conversion.decimalComma ? "comma" : "point"}
        onChange={(chosen) => set({ decimalComma: chosen === "comma" })}
      />
    );
  }
  if (field.type === "relation") {
    return (
      <Select
        size="xs"
        aria-label={text.import.relationOf(field.name)}
        allowDeselect={false}
        data={relationKeys(field.collection, collections).map((key) => ({
          value: key,
          label: key === "id" ? text.import.byId : text.import.byField(key),
        }))}
        value={conversion.relationBy}
        onChange={(relationBy) => relationBy !== null && set({ relationBy })}
      />
    );
  }
  return (
    <Stack gap={4}>
      <Select
        size="xs"
        rightSectionWidth={24}
        aria-label={text.import.orderOf(field.name)}
        allowDeselect={false}
        data={DATE_ORDERS.map((order) => ({ value: order, label: text.import.orders[order] }))}
        value={conversion.dateOrder}
        onChange={(dateOrder) => dateOrder !== null && set({ dateOrder })}
      />
      <Select
        size="xs"
        rightSectionWidth={24}
        aria-label={text.import.zoneOf(field.name)}
        searchable
        limit={60}
        allowDeselect={false}
        data={zones}
        value={conversion.timeZone}
        onChange={(timeZone) => timeZone !== null && set({ timeZone })}
        comboboxProps={{ width: 220 }}
      />
    </Stack>
  );
}
