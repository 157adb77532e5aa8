/** The subject of an event in a single line: an account by its email, any other subject by its id or name; and the change by an admin. */
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
