/** Actor of an event: the email of a user, or the service itself. */
import { useQuery } from "@tanstack/react-query";
import { userQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";

export function Actor({ id }: { id: string | null }) {
  const { data } = useQuery({ ...userQuery(id ?? ""), enabled: id !== null, retry: false });
  if (id === null) return <>{text.events.nobody}</>;
  // The account may be deleted; the event stays.
  return <>{data?.email ?? `…${id.slice(-8)}`}</>;
}
