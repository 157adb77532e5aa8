/** A user by the email: as words, as a link to the page of the user, and as a filter that finds a user by a part of the email. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../service/client.ts";
import { userQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { TextLink } from "./action.tsx";

/** A user in words: the email, or the end of the id of an anonymous user. */
export function nameOfUser({ id, email }: { id: string; email: string | null }): string {
  return email ?? text.users.anonymous(`…${id.slice(-8)}`);
}

interface UserNameProps {
  id: string | null;
  /** Shown when no user is meant. */
  nobody: string;
}

/** A change may be of an API key in place of a user. */
function isKey(id: string | null): boolean {
  return id?.startsWith("key_") === true;
}

export function UserName({ id, nobody }: UserNameProps) {
  const { data } = useQuery({ ...userQuery(id ?? ""), enabled: id !== null && !isKey(id), retry: false });
  if (id === null) return <>{nobody}</>;
  const end = `…${id.slice(-8)}`;
  // The account may be deleted: the event or the file stays.
  return <>{isKey(id) ? text.common.apiKey(end) : data === undefined ? end : nameOfUser(data)}</>;
}

export function UserLink({ id, nobody }: UserNameProps) {
  if (id === null || isKey(id)) return <UserName id={id} nobody={nobody} />;
  return (
    <TextLink to="/users" search={{ user: id }} underline="always">
      <UserName id={id} nobody={nobody} />
    </TextLink>
  );
}

interface UserSelectProps {
  /** The accessible name. */
  label: string;
  /** Shown while no user is chosen; also the name of the button that clears the choice. */
  anyLabel: string;
  /** The id of the user. */
  value: string | undefined;
  onChange: (id: string | undefined) => void;
}

export function UserSelect({ label, anyLabel, value, onChange }: UserSelectProps) {
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed, 200);
  const { data: chosen } = useQuery({ ...userQuery(value ?? ""), enabled: value !== undefined, retry: false });
  const { data: found } = useQuery({
    queryKey: ["users", "picker", words],
    queryFn: () => client.admin.users.list({ search: words === "" ? undefined : words, limit: 20 }),
    placeholderData: keepPreviousData,
  });
  const users = new Map((found?.items ?? []).map((user) => [user.id, nameOfUser(user)]));
  const chosenName = chosen && nameOfUser(chosen);
  if (value !== undefined) users.set(value, chosenName ?? value);
  return (
    <Select
      size="xs"
      w={150}
      aria-label={label}
      placeholder={anyLabel}
      data={[...users].map(([id, email]) => ({ value: id, label: email }))}
      value={value ?? null}
      onChange={(id) => onChange(id ?? undefined)}
      searchable
      onSearchChange={(search) => setTyped(search === chosenName ? "" : search)}
      nothingFoundMessage={text.common.noUser}
      clearable
      clearButtonProps={{ "aria-label": anyLabel }}
    />
  );
}
