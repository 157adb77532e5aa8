/** A field of the collection: the source of its value, the conversion, and an example of the result. */
import { Badge, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { Choice, Dim } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import classes from "./import.module.css";
import { takesDefault } from "./mapping/convert.ts";
import { type Conversion, type FieldMapping, mappingFor, relationKeys } from "./mapping/mapping.ts";
import { cellText } from "./preview.ts";
import type { LoadedSource } from "./use-source.ts";

export function FieldRow(props: {
  mapping: FieldMapping;
  collections: readonly CollectionEntry[];
  source: LoadedSource;
  isUpdate: boolean;
  onChange: (mapping: FieldMapping) => void;
}) {
  const { mapping, collections, source: file, isUpdate, onChange } = props;
  const { field, source } = mapping;
  const column = source.kind === "column" ? source.column : -1;
  const example = file.sample.map(({ cells }) => cells[column]).find((cell) => cell !== null && cell !== undefined);

  const choose = (value: string | null): void => {
    if (value === "constant") onChange({ ...mapping, source: { kind: "constant", value: "" } });
    else if (value === "skip" || value === null) onChange({ ...mapping, source: { kind: "skip" } });
    else {
      const sample = file.sample.map(({ cells }) => cells);
      onChange(mappingFor({ field, column: Number(value), sample, collections }));
    }
  };

  return (
    <div className={classes["field"]} data-field={field.name}>
      <div>
        <Text size="sm" fw={600} className="breaks">
          {field.name}
        </Text>
        <Group gap={6}>
          <Dim ff="monospace">
            {field.type === "relation" ? `→ ${field.collection}` : field.type}
            {field.multiple === true && "[]"}
          </Dim>
          {field.required === true && <Mark label={text.import.requiredMark} />}
          {field.unique === true && <Mark label={text.import.uniqueMark} />}
          {field.owner === true && <Mark label={text.import.ownerMark} />}
          {field.default !== undefined && <Mark label={text.import.defaultMark} />}
        </Group>
      </div>
      <div>
        {field.sequence === undefined ? (
          <SourceControls
            mapping={mapping}
            columns={file.columns}
            isUpdate={isUpdate}
            choose={choose}
            onChange={onChange}
          />
        ) : (
          <Dim>{isUpdate ? text.import.skip : text.import.numbered}</Dim>
        )}
      </div>
      <div>
        {source.kind !== "skip" && (
          <ConversionControls mapping={mapping} collections={collections} onChange={onChange} />
        )}
      </div>
      <Dim ff="monospace" className="cut" title={cellText(example)}>
        {cellText(example)}
      </Dim>
    </div>
  );
}

function SourceControls(props: {
  mapping: FieldMapping;
  columns: readonly string[];
  isUpdate: boolean;
  choose: (value: string | null) => void;
  onChange: (mapping: FieldMapping) => void;
}) {
  const { mapping, columns, isUpdate, choose, onChange } = props;
  const { field, source } = mapping;
  const takesDefault = field.default !== undefined && !isUpdate;
  return (
    <>
      <Select
        size="xs"
        aria-label={text.import.sourceOf(field.name)}
        searchable
        limit={100}
        allowDeselect={false}
        data={[
          { value: "skip", label: takesDefault ? text.import.useDefault : text.import.skip },
          { value: "constant", label: text.import.constant },
          ...columns.map((name, i) => ({ value: String(i), label: name })),
        ]}
        value={source.kind === "column" ? String(source.column) : source.kind}
        onChange={choose}
      />
      {source.kind === "constant" && (
        <TextInput
          size="xs"
          mt={4}
          aria-label={text.import.constantOf(field.name)}
          value={source.value}
          onChange={(event) => onChange({ ...mapping, source: { kind: "constant", value: event.currentTarget.value } })}
        />
      )}
    </>
  );
}

function Mark({ label }: { label: string }) {
  return (
    <Badge size="xs" variant="default" radius="sm" className={classes["mark"]}>
      {label}
    </Badge>
  );
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = [...new Set(["UTC", ownZone, ...Intl.supportedValuesOf("timeZone")])];

interface ConversionProps {
  mapping: FieldMapping;
  collections: readonly CollectionEntry[];
  onChange: (mapping: FieldMapping) => void;
}

function ConversionControls(props: ConversionProps) {
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
