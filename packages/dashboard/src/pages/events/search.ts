/** The address of the event log's page. */
import { type RawSearch, searchOf, textParam } from "../../kit/search-params.ts";

/** Leaves out a text that is not a time. */
function timeParam(search: RawSearch, name: string): string | undefined {
  const value = textParam(search, name);
  return value === undefined || Number.isNaN(Date.parse(value)) ? undefined : value;
}

export const readEventSearch = searchOf({
  /** In the form of the API: "posts.created,admin.*". */
  type: textParam,
  /** RFC 3339. */
  from: timeParam,
  to: timeParam,
  /** The id of the user who caused the events. */
  actor: textParam,
  /** The id of the user to whom the events happened. */
  about: textParam,
  /** The id of the event whose details are open. */
  event: textParam,
});

export type EventSearch = ReturnType<typeof readEventSearch>;
