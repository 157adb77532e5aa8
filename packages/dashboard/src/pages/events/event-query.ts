/** The query for a single event of the log. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../../service/client.ts";
import { timeOfId } from "./event-list.ts";

/** An event outside the loaded list: its id gives its time. Null when the log has dropped the event. */
export function eventQuery(id: string) {
  return queryOptions({
    queryKey: ["events", "one", id],
    queryFn: async () => {
      const at = timeOfId(id);
      if (at === null) return null;
      const { items } = await client.admin.events({ from: at, to: at, limit: 1_000 });
      return items.find((event) => event.id === id) ?? null;
    },
    staleTime: 60_000,
  });
}
