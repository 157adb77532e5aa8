import type { PermissionRule } from "@socle/protocol";
import { isAdmin, type SignedIn } from "../kernel/index.ts";

/**
 * Who may hear an event is a choice of topics, not a question asked of each socket: the socket joins the topics of its
 * listener, the event goes to those that the rule in force names. No event goes to two topics that one listener has
 * joined, so that nobody hears it twice.
 */

/** The caller behind a socket; null is somebody without a token. */
export type Listener = SignedIn | null;

/** The topics of an event type that a listener joins. A user's own topic is for records that are theirs. */
export function topicsOfListener(type: string, listener: Listener): string[] {
  if (listener === null) return [`${type}/anonymous`];
  if (isAdmin(listener)) return [`${type}/admins`];
  return [`${type}/users`, `${type}/${listener.userId}`];
}

/** The topics that an event goes to. `owner` is the id of the user who owns the record. */
export function topicsOfEvent(type: string, rule: PermissionRule, owner: string | null): string[] {
  switch (rule) {
    case "public":
      return [`${type}/anonymous`, `${type}/users`, `${type}/admins`];
    case "authenticated":
      return [`${type}/users`, `${type}/admins`];
    case "owner":
      return owner === null ? [`${type}/admins`] : [`${type}/${owner}`, `${type}/admins`];
    case "admin":
      return [`${type}/admins`];
  }
}

/** The same question for one listener: it is answered by the same topics. */
export function mayHear(listener: Listener, type: string, rule: PermissionRule, owner: string | null): boolean {
  const joined = topicsOfListener(type, listener);
  return topicsOfEvent(type, rule, owner).some((topic) => joined.includes(topic));
}
