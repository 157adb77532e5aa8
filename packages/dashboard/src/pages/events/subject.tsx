/** The subject of an event, in one line: the account by its email, else the id or the name; and the change that an admin has made. */
import type { EventEntry } from "@socle/protocol";
import { Actor } from "./actor.tsx";
import { subjectOf } from "./event-list.ts";
import { aboutUser, changeOf } from "./user-events.ts";

export function Subject({ event }: { event: EventEntry }) {
  const user = aboutUser(event);
  const change = changeOf(event);
  return (
    <>
      {user === null ? subjectOf(event) : <Actor id={user} />}
      {change !== "" && ` · ${change}`}
    </>
  );
}
