/** A field of the collection: the source of its value, the conversion, and an example of the result. */
import { Badge, Group, Select, Text, TextInput } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { Dim } from "../../kit/words.tsx";
import { text } from "../../texts/index.ts";
import { ConversionControls } from "./conversion-controls.tsx";
import classes from "./import.module.css";
import { type FieldMapping, mappingFor } from "./mapping/mapping.ts";
import type { LoadedSource } from "./use-source.ts";
import { cellText } from "./value-text.ts";

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
