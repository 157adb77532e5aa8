/**
 * An event's id consists of its time and its seq in the log, both in hexadecimal of fixed width. So ids sort in commit
 * order, and the seq can be read from the id alone.
 */
const pattern = /^evt_([0-9a-f]{12})([0-9a-f]{13})$/;

export function eventId(at: number, seq: number): string {
  return `evt_${at.toString(16).padStart(12, "0")}${seq.toString(16).padStart(13, "0")}`;
}

/** Time and seq of an event; null if the text is not an event's id. */
export function parseEventId(id: string): { at: number; seq: number } | null {
  const [, at, seq] = pattern.exec(id) ?? [];
  if (at === undefined || seq === undefined) return null;
  return { at: Number.parseInt(at, 16), seq: Number.parseInt(seq, 16) };
}
