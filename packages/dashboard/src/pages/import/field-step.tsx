/** The second step: the action for the rows, and the column for each field. */
import { Group, SegmentedControl, Select, Stack } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { choicesOf, Dim, Notice, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { FieldRow } from "./field-row.tsx";
import classes from "./import.module.css";
import { type FieldMapping, guessColumn, guessMatch, keysOf, type Match } from "./mapping/mapping.ts";
import { isGiven } from "./mapping/rules.ts";
import type { LoadedSource } from "./use-source.ts";

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
