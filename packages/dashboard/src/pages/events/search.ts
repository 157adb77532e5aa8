/** The address of the event log's page. */
import { type RawSearch, textParam } from "../../kit/search-params.ts";

export interface EventSearch {
  /** In the form of the API: "posts.created,admin.*". */
  type?: string | undefined;
  /** RFC 3339. */
  from?: string | undefined;
  to?: string | undefined;
  /** The id of the user who caused the events. */
  actor?: string | undefined;
  /** The id of the user to whom the events happened. */
  about?: string | undefined;
  /** The id of the event whose details are open. */
  event?: string | undefined;
}

/** Leaves out a text that is not a time. */
function timeParam(search: RawSearch, name: string): string | undefined {
  const value = textParam(search, name);
  return value === undefined || Number.isNaN(Date.parse(value)) ? undefined : value;
}

export function readEventSearch(search: RawSearch): EventSearch {
  return {
    type: textParam(search, "type"),
    from: timeParam(search, "from"),
    to: timeParam(search, "to"),
    actor: textParam(search, "actor"),
    about: textParam(search, "about"),
    event: textParam(search, "event"),
  };
}
