/** A user by the email: as words, and as a link to the page of the user. */
import { useQuery } from "@tanstack/react-query";
import { userQuery } from "../service/queries.ts";
import { TextLink } from "./links.tsx";

interface UserNameProps {
  id: string | null;
  /** Shown when no user is meant. */
  nobody: string;
}

export function UserName({ id, nobody }: UserNameProps) {
  const { data } = useQuery({ ...userQuery(id ?? ""), enabled: id !== null, retry: false });
  // The account may be deleted: the event or the file stays.
  return <>{id === null ? nobody : (data?.email ?? `…${id.slice(-8)}`)}</>;
}

export function UserLink({ id, nobody }: UserNameProps) {
  if (id === null) return <>{nobody}</>;
  return (
    <TextLink to="/users" search={{ user: id }} underline="always">
      <UserName id={id} nobody={nobody} />
    </TextLink>
  );
}
