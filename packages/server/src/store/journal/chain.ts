/**
 * Chain of a journal: each entry has a random id, and names the id of the entry before. An instance keeps the id of the last entry that the instance
 * has, and so learns when a journal went back, has another history, or is another journal.
 *
 * The first half of an id is the same in all entries of one role of a leader. One leader makes a line without branches, so the first entry of each
 * role is enough to find the last position that two histories share.
 */

/** A place in the chain. */
export interface ChainPlace {
  /** The position of an entry; 0 before the first entry. */
  readonly position: number;
  /** Null before the first entry, and for an entry of a version without ids: such a place is compared by the position alone. */
  readonly id: string | null;
}

/** The first entry of each role, in order, and the last entry. */
export interface History {
  readonly roles: readonly ChainPlace[];
  readonly end: ChainPlace;
}

/** The place before the first entry. */
export const beginning: ChainPlace = { position: 0, id: null };

const halfBytes = 9;
export const roleCharacters = (halfBytes * 4) / 3;

/** A random name for a role of a leader, 12 characters. */
export function newRole(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(halfBytes))).toString("base64url");
}

/** The id of a new entry in a role. */
export function newEntryId(role: string): string {
  return role + newRole();
}

/** The role that made an entry; null for an entry without an id. */
export function roleOf(id: string | null): string | null {
  return id?.slice(0, roleCharacters) ?? null;
}

/** The last position of a role in a history; null for a role that the history does not have. */
function endOf(role: string | null, { roles, end }: History): number | null {
  const at = roles.findIndex(({ id }) => roleOf(id) === role);
  if (at < 0) return null;
  const next = roles[at + 1];
  return next === undefined ? end.position : next.position - 1;
}

/** The last position at which two histories are the same; null when the histories know no common role. */
export function commonPosition(one: History, other: History): number | null {
  for (const { id } of one.roles.toReversed()) {
    const ends = [endOf(roleOf(id), one), endOf(roleOf(id), other)];
    if (ends.every((end) => end !== null)) return Math.min(...ends);
  }
  return null;
}

/** Whether a history has the entry of a place. */
export function hasPlace(history: History, { position, id }: ChainPlace): boolean {
  const first = history.roles.find((each) => roleOf(each.id) === roleOf(id));
  return first !== undefined && first.position <= position && position <= (endOf(roleOf(id), history) ?? -1);
}

/** The journal does not have the place at which a history ends: the journal went back, has another history, or is another journal. */
export class ChainBroken extends Error {
  override readonly name = "ChainBroken";
}
