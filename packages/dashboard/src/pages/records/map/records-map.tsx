/** The records of the list on a map, in place of the grid: the first records of the list that have a place. */
import { Group, Text } from "@mantine/core";
import type { FieldDefinition, GeoPoint, StoredRecord } from "@socle/protocol";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Suspense, useMemo, useState } from "react";
import { IconMapPin, IconTable } from "../../../icons/index.ts";
import { Action, Choice, Dim, EmptyState, IconAction, QueryView } from "../../../kit/index.ts";
import { type MapPoint, WorldMap } from "../../../kit/map/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import { type ListQuery, recordsKey } from "../data/record-query.ts";
import { recordName } from "../editor/naming.ts";
import { placeOf } from "../editor/places.ts";
import classes from "../records.module.css";
import type { RecordsPage } from "../use-records-page.ts";
import { lookAtList, lookedSize } from "../view-as/look.ts";

/** The most records on the map: the longest page of the API. */
const mostRecords = 1_000;
/** The most names of records at a place. */
const mostNames = 8;

/** The fields of a collection that have a place. */
function placeFields(fields: readonly FieldDefinition[]): string[] {
  return fields.filter(({ type }) => type === "geo").map(({ name }) => name);
}

/** The button that shows the list as a map, or the map as a list; nothing in a collection without places. */
export function MapSwitch({ page: { collection, search, setSearch, state } }: { page: RecordsPage }) {
  const [field] = placeFields(collection.fields);
  if (field === undefined) return null;
  const isMap = search.map !== undefined;
  const label = isMap ? text.records.map.hide : text.records.map.show;
  const change = (): void => {
    state.clear();
    setSearch({ map: isMap ? undefined : field });
  };
  return (
    <IconAction
      icon={isMap ? IconTable : IconMapPin}
      label={label}
      word={isMap ? text.records.map.list : text.records.map.word}
      tip={label}
      size={30}
      onClick={change}
    />
  );
}

/** The records with a place, and their number; the number is unknown in the list of another caller. */
function placesQuery({ collection, as, filter, search, sort }: ListQuery, field: string) {
  const query = {
    limit: as === undefined ? mostRecords : lookedSize,
    filter: filter === undefined ? `${field} != null` : `(${filter}) && ${field} != null`,
    ...(search !== undefined && { search }),
    ...(sort !== undefined && { sort }),
  };
  return queryOptions({
    queryKey: [...recordsKey(collection), "map", as, query],
    queryFn: async ({ signal }) => {
      const page =
        as === undefined
          ? await client.collection(collection).page<StoredRecord>({ ...query, count: "exact" }, { signal })
          : await lookAtList(collection, as, { query, signal });
      return { items: page.items, total: page.total ?? page.items.length };
    },
  });
}

export function RecordsMap({ page, field }: { page: RecordsPage; field: string }) {
  const query = useQuery(placesQuery(page.shown.list, field));
  return (
    <QueryView query={query}>
      {({ items, total }) => <Places page={page} field={field} records={items} total={total} />}
    </QueryView>
  );
}

function Places({
  page,
  field,
  records,
  total,
}: {
  page: RecordsPage;
  field: string;
  records: readonly StoredRecord[];
  total: number;
}) {
  const { collection, setSearch, shown, scroller } = page;
  const { hidden } = shown;
  const points = useMemo(
    () =>
      records.flatMap((record): MapPoint[] => {
        const place = placeOf(record[field] ?? null);
        return place === null || hidden.has(record.id) ? [] : [{ id: record.id, ...place }];
      }),
    [records, field, hidden],
  );
  const names = useMemo(
    () => new Map(records.map((record) => [record.id, recordName(record, collection.fields)])),
    [records, collection.fields],
  );
  const nameOf = (ids: readonly string[]): string => {
    const first = ids.slice(0, mostNames).map((id) => names.get(id) ?? id);
    return `${first.join(", ")}${ids.length > mostNames ? ", …" : ""}`;
  };
  const [here, setHere] = useState<readonly string[]>([]);
  const choose = (_: GeoPoint, ids: readonly string[]): void => {
    const [only, ...others] = ids;
    setHere(ids);
    if (only !== undefined && others.length === 0) page.open(only);
  };
  const fields = placeFields(collection.fields);
  const words = Object.fromEntries(fields.map((name) => [name, name]));
  if (points.length === 0)
    return <EmptyState icon={IconMapPin} title={text.records.map.none} body={text.records.map.noneBody} />;
  return (
    <>
      <Suspense>
        <WorldMap
          label={text.records.map.title(field)}
          points={points}
          nameOf={nameOf}
          onChoose={choose}
          mapRef={scroller}
        />
      </Suspense>
      <div className={classes["foot"]}>
        {fields.length > 1 && (
          <Choice
            w={140}
            aria-label={text.records.map.field}
            words={words}
            value={field}
            onChange={(map) => setSearch({ map })}
          />
        )}
        <Dim className="numbers">{text.records.map.shown(points.length, total)}</Dim>
        {here.length > 1 && (
          <Group gap={6} role="status">
            <Text size="xs">{text.records.map.here(here.length)}</Text>
            {here.slice(0, mostNames).map((id) => (
              <Action
                key={id}
                size="compact-xs"
                variant="subtle"
                label={names.get(id) ?? id}
                onClick={() => page.open(id)}
              />
            ))}
            {here.length > mostNames && <Dim>{text.records.map.more(here.length - mostNames)}</Dim>}
          </Group>
        )}
      </div>
    </>
  );
}
