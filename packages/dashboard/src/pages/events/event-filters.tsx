/** The filters of the event log: types with completion, a time, the user who caused them. */
import { Select, TagsInput } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import "@mantine/dates/styles.css";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../../service/client.ts";
import { collectionsQuery, userQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import type { EventSearch } from "./search.ts";

/** Types beside those of records. */
const otherTypes = [
  "auth.*",
  "auth.login",
  "auth.register",
  "auth.logout",
  "storage.*",
  "storage.uploaded",
  "storage.deleted",
  "function.*",
  "function.failed",
  "job.*",
  "job.failed",
  "admin.*",
  "system.*",
];
/** Types that one request may name. */
const maxTypes = 20;
const hourMs = 3_600_000;

const presets = {
  hour: () => new Date(Date.now() - hourMs),
  today: () => new Date(new Date().setHours(0, 0, 0, 0)),
  week: () => new Date(Date.now() - 7 * 24 * hourMs),
} as const;
type Preset = keyof typeof presets;

interface FilterProps {
  search: EventSearch;
  onChange: (patch: EventSearch) => void;
}

export function EventFilters({ search, onChange }: FilterProps) {
  return (
    <>
      <TypeFilter search={search} onChange={onChange} />
      <ActorFilter search={search} onChange={onChange} />
      <TimeFilter search={search} onChange={onChange} />
    </>
  );
}

function TypeFilter({ search, onChange }: FilterProps) {
  const { data: collections = [] } = useQuery(collectionsQuery);
  const ofRecords = collections.flatMap(({ name }) =>
    ["*", "created", "updated", "deleted"].map((end) => `${name}.${end}`),
  );
  return (
    <TagsInput
      size="xs"
      miw={220}
      maw={460}
      flex={1}
      aria-label={text.events.types}
      placeholder={search.type === undefined ? text.events.types : ""}
      data={[...ofRecords, ...otherTypes]}
      value={search.type?.split(",") ?? []}
      onChange={(types) => onChange({ type: types.length === 0 ? undefined : types.slice(0, maxTypes).join(",") })}
      maxTags={maxTypes}
      limit={40}
      splitChars={[",", " "]}
      clearable
      clearButtonProps={{ "aria-label": text.events.anyType }}
    />
  );
}

function ActorFilter({ search, onChange }: FilterProps) {
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed, 200);
  const { data: chosen } = useQuery({
    ...userQuery(search.actor ?? ""),
    enabled: search.actor !== undefined,
    retry: false,
  });
  const { data: found } = useQuery({
    queryKey: ["users", "picker", words],
    queryFn: () => client.admin.users.list({ search: words === "" ? undefined : words, limit: 20 }),
    placeholderData: keepPreviousData,
  });
  const users = new Map((found?.items ?? []).map(({ id, email }) => [id, email]));
  if (search.actor !== undefined) users.set(search.actor, chosen?.email ?? search.actor);
  return (
    <Select
      size="xs"
      w={220}
      aria-label={text.events.actor}
      placeholder={text.events.anyActor}
      data={[...users].map(([value, label]) => ({ value, label }))}
      value={search.actor ?? null}
      onChange={(value) => onChange({ actor: value ?? undefined })}
      searchable
      onSearchChange={(value) => setTyped(value === chosen?.email ? "" : value)}
      nothingFoundMessage={text.events.noActor}
      clearable
      clearButtonProps={{ "aria-label": text.events.anyActor }}
    />
  );
}

/** From a preset or a picked time; until now, or a picked time. */
function TimeFilter({ search, onChange }: FilterProps) {
  const preset = (value: string | null): void => {
    const make = presets[value as Preset];
    onChange(make === undefined ? { from: undefined, to: undefined } : { from: make().toISOString(), to: undefined });
  };
  const picked = (value: string | null): string | undefined =>
    value === null ? undefined : new Date(value.replace(" ", "T")).toISOString();
  return (
    <>
      <Select
        size="xs"
        w={140}
        aria-label={text.events.time}
        placeholder={search.from === undefined && search.to === undefined ? text.events.anyTime : text.events.since}
        data={[
          { value: "hour", label: text.events.lastHour },
          { value: "today", label: text.events.today },
          { value: "week", label: text.events.lastWeek },
          { value: "any", label: text.events.anyTime },
        ]}
        value={null}
        onChange={preset}
      />
      <DateTimePicker
        size="xs"
        w={176}
        withSeconds
        clearable
        aria-label={text.events.from}
        placeholder={text.events.from}
        value={search.from === undefined ? null : new Date(search.from)}
        onChange={(value) => onChange({ from: picked(value) })}
      />
      <DateTimePicker
        size="xs"
        w={176}
        withSeconds
        clearable
        aria-label={text.events.to}
        placeholder={text.events.to}
        value={search.to === undefined ? null : new Date(search.to)}
        onChange={(value) => onChange({ to: picked(value) })}
      />
    </>
  );
}
