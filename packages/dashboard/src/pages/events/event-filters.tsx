/** The filters of the event log: types with completion, a time range, the user who caused the events. */
import { TagsInput } from "@mantine/core";
import { DateTimePicker } from "@mantine/dates";
import "@mantine/dates/styles.css";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Choice, Complaint, UserSelect } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { isKnownType, typesOf } from "./event-types.ts";
import type { EventSearch } from "./search.ts";

/** Most types in a request. */
const maxTypes = 20;
const hourMs = 3_600_000;

const presets = {
  hour: () => new Date(Date.now() - hourMs),
  today: () => new Date(new Date().setHours(0, 0, 0, 0)),
  week: () => new Date(Date.now() - 7 * 24 * hourMs),
  any: () => undefined,
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
      <UserSelect
        label={text.events.actor}
        anyLabel={text.events.anyActor}
        value={search.actor}
        onChange={(actor) => onChange({ actor })}
      />
      <UserSelect
        label={text.events.aboutUser}
        anyLabel={text.events.anyAbout}
        value={search.about}
        onChange={(about) => onChange({ about })}
      />
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
      {refused !== null && <Complaint size="xs">{text.events.noType(refused)}</Complaint>}
    </>
  );
}

/** The start is a preset or a picked time; the end is now or a picked time. */
function TimeFilter({ search, onChange }: FilterProps) {
  const preset = (value: Preset): void => onChange({ from: presets[value]()?.toISOString(), to: undefined });
  const picked = (value: string | null): string | undefined =>
    value === null ? undefined : new Date(value.replace(" ", "T")).toISOString();
  return (
    <>
      <Choice
        w={120}
        aria-label={text.events.time}
        placeholder={search.from === undefined && search.to === undefined ? text.events.since.any : text.events.picked}
        words={text.events.since}
        value={null}
        onChange={preset}
      />
      {(["from", "to"] as const).map((end) => (
        <DateTimePicker
          key={end}
          size="xs"
          w={150}
          withSeconds
          highlightToday
          clearable
          aria-label={text.events[end]}
          placeholder={text.events[end]}
          value={search[end] === undefined ? null : new Date(search[end])}
          onChange={(value) => onChange({ [end]: picked(value) })}
        />
      ))}
    </>
  );
}
