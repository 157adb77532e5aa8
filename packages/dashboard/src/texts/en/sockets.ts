/** Texts of the page of open sockets. */
import { count } from "./count.ts";

export const sockets = {
  title: "Live connections",
  one: "Live connection",
  filters: "Find connections",
  user: "User",
  anyUser: "Any user",
  nobody: "signed out",
  key: "API key",
  yes: "yes",
  role: "Role",
  address: "Address",
  openedAt: "Opened",
  process: "Process",
  processName: (number: number) => (number === 0 ? "leader" : `reader ${number}`),
  /** The address of an instance of a cluster, with the process if it is not the only one. */
  instanceName: (address: string, number: number) =>
    `${address.replace(/^https?:\/\//, "")}${number === 0 ? "" : `, reader ${number}`}`,
  missing: (names: readonly string[]) => `Not in the list, because there is no answer: ${names.join(", ")}`,
  holds: "Holds",
  held: (channels: number, queries: number, rooms: number) =>
    [
      channels > 0 && count(channels, "channel"),
      queries > 0 && count(queries, "live query", "live queries"),
      rooms > 0 && count(rooms, "room"),
    ]
      .filter((part) => part !== false)
      .join(", ") || "nothing yet",
  waiting: "Not received yet",
  about: "About",
  clientId: "Client",
  copyClientId: "Copy the id of the client",
  channels: "Channels",
  noChannels: "The connection has no channel.",
  queries: "Live queries",
  noQueries: "The connection has no live query.",
  rooms: "Rooms",
  noRooms: "The connection is in no room.",
  empty: "No open connection",
  emptyBody: "Pages and apps with live queries, channels or rooms appear here while they are open.",
  nothingFound: "No connection of this user",
  nothingFoundBody: "The user has no page or app open that listens.",
  closed: "The connection was closed.",
};
