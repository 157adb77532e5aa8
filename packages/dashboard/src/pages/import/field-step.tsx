/** The second step: the action for the rows, and the column for each field. */
import { Badge, Group, SegmentedControl, Select, Stack, Text, TextInput } from "@mantine/core";
import { type CollectionEntry, isUnique } from "@socle/protocol";
import { Choice, choicesOf, Dim, Notice, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import type { LoadedSource } from "./file-step.tsx";
import classes from "./import.module.css";
import { takesDefault } from "./mapping/convert.ts";
import {
  type Conversion,
  type FieldMapping,
  guessColumn,
  guessMatch,
  keysOf,
  type Match,
  mappingFor,
  relationKeys,
} from "./mapping/mapping.ts";
import { isGiven } from "./mapping/rules.ts";
import { cellText } from "./preview.ts";

/** Most column names in the text. */
const maxNames = 12;

interface Mode {
  isUpdate: boolean;
  match: Match | null;
  setUpdate: (isUpdate: boolean) => void;
  setMatch: (match: Match | null) => void;
}

export function FieldStep(props: {
  collection: CollectionEntry;
  collections: readonly CollectionEntry[];
  source: LoadedSource;
  mappings: readonly FieldMapping[];
  onMappings: (mappings: readonly FieldMapping[]) => void;
  mode: Mode;
}) {
  const { collection, collections, source, mappings, onMappings, mode } = props;
  const used = new Set(mappings.map(({ source: from }) => (from.kind === "column" ? from.column : -1)));
  if (mode.isUpdate && mode.match !== null) used.add(mode.match.column);
  const unused = source.columns.filter((_, i) => !used.has(i));
  const missing = mode.isUpdate
    ? []
    : mappings.filter(({ field, source: from }) => field.required === true && !isGiven(field) && from.kind === "skip");
  return (
    <Panel title={text.import.fields}>
      <Stack gap="md" p="md" pt="xs">
        <ModeControls fields={collection.fields} columns={source.columns} mode={mode} />
        {missing.length > 0 && (
          <Notice tone="warn" p="xs">
            {text.import.requiredUnmapped(missing.map(({ field }) => field.name).join(", "))}
          </Notice>
        )}
        <div>
          <div className={classes["fieldHead"]} aria-hidden>
            <span>{text.import.fieldColumn}</span>
            <span>{text.import.sourceColumn}</span>
            <span>{text.import.conversionColumn}</span>
            <span>{text.import.sampleColumn}</span>
          </div>
          {mappings.map((mapping, at) => (
            <FieldRow
              key={mapping.field.name}
              mapping={mapping}
              collections={collections}
              source={source}
              isUpdate={mode.isUpdate}
              onChange={(next) => onMappings(mappings.map((each, i) => (i === at ? next : each)))}
            />
          ))}
        </div>
        {unused.length > 0 && (
          <Dim className="breaks">
            {text.import.unusedColumns(
              [
                ...unused.slice(0, maxNames),
                ...(unused.length > maxNames ? [text.import.moreColumns(unused.length - maxNames)] : []),
              ].join(", "),
            )}
          </Dim>
        )}
      </Stack>
    </Panel>
  );
}

function ModeControls(props: { fields: CollectionEntry["fields"]; columns: readonly string[]; mode: Mode }) {
  const { fields, columns, mode } = props;
  const { isUpdate, match, setUpdate, setMatch } = mode;
  const keys = keysOf(fields);
  const field = match?.field ?? keys[0] ?? "id";
  return (
    <Group gap="sm" align="end">
      <SegmentedControl
        size="xs"
        aria-label={text.import.mode}
        data={choicesOf(text.import.modes)}
        value={isUpdate ? "update" : "create"}
        onChange={(value) => {
          setUpdate(value === "update");
          setMatch(value === "update" ? guessMatch(fields, columns) : null);
        }}
      />
      {isUpdate && (
        <>
          <Select
            size="xs"
            w={160}
            label={text.import.matchField}
            allowDeselect={false}
            data={keys}
            value={field}
            onChange={(next) => {
              if (next === null) return;
              const column = guessColumn(columns, next);
              setMatch({ field: next, column: column === -1 ? (match?.column ?? 0) : column });
            }}
          />
          <Select
            size="xs"
            w={220}
            label={text.import.matchColumn}
            searchable
            limit={100}
            allowDeselect={false}
            data={columns.map((name, i) => ({ value: String(i), label: name }))}
            value={match === null ? null : String(match.column)}
            onChange={(next) => next !== null && setMatch({ field, column: Number(next) })}
          />
        </>
      )}
    </Group>
  );
}

function FieldRow(props: {
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
          {isUnique(field) && <Mark label={text.import.uniqueMark} />}
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
      words={text.import.decimals}
      value={conversion.decimal}
      onChange={(decimal) => set({ decimal })}
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
