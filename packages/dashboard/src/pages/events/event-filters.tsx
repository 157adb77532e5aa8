/** The filters of the event log: types with completion, a time, the user who caused them. */
import { Select, TagsInput, Text } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import "@mantine/dates/styles.css";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../../service/client.ts";
import { collectionsQuery, userQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { isKnownType, typesOf } from "./event-types.ts";
import type { EventSearch } from "./search.ts";

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
      <UserFilter part="actor" search={search} onChange={onChange} />
      <UserFilter part="about" search={search} onChange={onChange} />
      <TimeFilter search={search} onChange={onChange} />
    </>
  );
}

function TypeFilter({ search, onChange }: FilterProps) {
  const { data: collections = [] } = useQuery(collectionsQuery);
  const [refused, setRefused] = useState<string | null>(null);
  const change = (types: string[]): void => {
    setRefused(types.find((type) => !isKnownType(type)) ?? null);
    const known = types.filter(isKnownType).slice(0, maxTypes);
    onChange({ type: known.length === 0 ? undefined : known.join(",") });
  };
  return (
    <>
      <TagsInput
        size="xs"
        miw={160}
        maw={460}
        flex={1}
        aria-label={text.events.types}
        placeholder={search.type === undefined ? text.events.types : ""}
        data={typesOf(collections.map(({ name }) => name))}
        value={search.type?.split(",") ?? []}
        onChange={change}
        error={refused !== null}
        onSearchChange={() => setRefused(null)}
        maxTags={maxTypes}
        limit={40}
        splitChars={[",", " "]}
        clearable
        clearButtonProps={{ "aria-label": text.events.anyType }}
      />
      {refused !== null && (
        <Text size="xs" c="var(--mantine-color-error)" role="alert">
          {text.events.noType(refused)}
        </Text>
      )}
    </>
  );
}

const userTexts = {
  actor: { label: text.events.actor, any: text.events.anyActor },
  about: { label: text.events.aboutUser, any: text.events.anyAbout },
} as const;

/** The user who caused the events, or the one to whom they happened. */
function UserFilter({ part, search, onChange }: FilterProps & { part: "actor" | "about" }) {
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed, 200);
  const id = search[part];
  const { label, any } = userTexts[part];
  const { data: chosen } = useQuery({ ...userQuery(id ?? ""), enabled: id !== undefined, retry: false });
  const { data: found } = useQuery({
    queryKey: ["users", "picker", words],
    queryFn: () => client.admin.users.list({ search: words === "" ? undefined : words, limit: 20 }),
    placeholderData: keepPreviousData,
  });
  const users = new Map((found?.items ?? []).map(({ id: each, email }) => [each, email]));
  if (id !== undefined) users.set(id, chosen?.email ?? id);
  return (
    <Select
      size="xs"
      w={150}
      aria-label={label}
      placeholder={any}
      data={[...users].map(([value, email]) => ({ value, label: email }))}
      value={id ?? null}
      onChange={(value) => onChange({ [part]: value ?? undefined })}
      searchable
      onSearchChange={(value) => setTyped(value === chosen?.email ? "" : value)}
      nothingFoundMessage={text.events.noActor}
      clearable
      clearButtonProps={{ "aria-label": any }}
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
        w={120}
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
        w={150}
        withSeconds
        highlightToday
        clearable
        aria-label={text.events.from}
        placeholder={text.events.from}
        value={search.from === undefined ? null : new Date(search.from)}
        onChange={(value) => onChange({ from: picked(value) })}
      />
      <DateTimePicker
        size="xs"
        w={150}
        withSeconds
        highlightToday
        clearable
        aria-label={text.events.to}
        placeholder={text.events.to}
        value={search.to === undefined ? null : new Date(search.to)}
        onChange={(value) => onChange({ to: picked(value) })}
      />
    </>
  );
}
