/** Emails that are stored in another form than the present form, and the stored email that a text means. */
import type { Reader } from "../../store/database/index.ts";
import { normaliseEmail } from "../mail/index.ts";

function isStored(reader: Reader, email: string): boolean {
  return reader.get("SELECT 1 FROM _users WHERE email = ?", email) !== null;
}

/**
 * The stored email that a text means: the present form; or the spelling of a user whose present form is the email of another
 * user. Null for a text that is no email address.
 */
export function storedEmail(reader: Reader, text: string): string | null {
  const [email, spelling] = [normaliseEmail(text), text.trim().toLowerCase()];
  return email !== null && email !== spelling && isStored(reader, spelling) ? spelling : email;
}

/** A user whose email has another form at present: null for no form, and taken if another user has the present form. */
interface FormerEmail {
  readonly id: string;
  readonly email: string;
  readonly present: string | null;
  readonly isTaken: boolean;
}

export function* formerEmails(reader: Reader): Iterable<FormerEmail> {
  // Any other email of ASCII has been stored in the present form. The inner query reads only the index of the emails.
  const sql =
    "SELECT id, email FROM _users WHERE _seq IN (SELECT _seq FROM _users WHERE octet_length(email) > length(email) OR email LIKE '%xn--%') ORDER BY _seq";
  const presents = new Set<string>();
  for (const { id, email } of reader.all<{ id: string; email: string }>(sql)) {
    const present = normaliseEmail(email);
    if (present === email) continue;
    const isTaken = present !== null && (presents.has(present) || isStored(reader, present));
    if (present !== null) presents.add(present);
    yield { id, email, present, isTaken };
  }
}

/** The line about each pair of users with one address, for the log and for `socle check`. */
export function sharedAddresses(reader: Reader): string[] {
  return [...formerEmails(reader)].flatMap(({ email, present, isTaken }) =>
    isTaken
      ? `Two users have one address, written ${email} and ${present}. Each signs in with this spelling; an admin deletes one of the users, or a user changes the address`
      : [],
  );
}
