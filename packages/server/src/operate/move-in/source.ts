/**
 * The neutral form of the data of another service: tables with definitions, rows, accounts and files, and the findings of the
 * report. A reader of a service (`pocketbase/`, `supabase/`, `firebase/`) makes a `MoveSource`; the survey and the move know no service.
 */
import type { CollectionDefinition, FieldDefinition, JsonValue, Visibility } from "@socle/protocol";

/** The parts of the report, in order: each finding of `decide` stops a move until an option decides. */
export const findingKinds = {
  decide: "To decide before the move",
  closed: "Rules that are closed, or say less than before",
  leak: "Open before to callers without a token, and closed now",
  other: "Different from before",
  left: "Not moved",
} as const;

export interface MoveFinding {
  readonly kind: keyof typeof findingKinds;
  /** A sentence or two: the subject, and what to do. */
  readonly text: string;
}

/** Takes a finding. */
export type ReportFinding = (kind: MoveFinding["kind"], text: string) => void;

/** The field for the old id, which each collection gets. */
export const sourceIdField: FieldDefinition = {
  name: "sourceId",
  type: "string",
  unique: true,
  permissions: { update: "admin" },
};

/** The choices of the options of the command. */
export interface Choices {
  /** Ids that lead to no record: kept, or cleared where the field may be empty. */
  readonly dangling: "keep" | "clear" | null;
  /** Files that are missing or too large: the field is cleared. */
  readonly clearsFiles: boolean;
  /** Of users with one address, the first keeps the address. */
  readonly firstKeepsEmail: boolean;
  /** Addresses by the old id of the user. */
  readonly emails: ReadonlyMap<string, string>;
  /** Issuers by the name of a provider. */
  readonly issuers: ReadonlyMap<string, string>;
}

export interface MovedFile {
  readonly id: string;
  readonly path: string;
  readonly filename: string;
  readonly visibility: Visibility;
  readonly size: number;
  /** The old addresses. */
  readonly addresses: readonly string[];
}

/** The account of a row of `users`. */
export interface MovedAccount {
  /** Null for a user without an address, who cannot sign in. */
  readonly email: string | null;
  /** Empty for a user without a password. */
  readonly passwordHash: string;
  readonly verifiedAt: string | null;
  readonly links: readonly { readonly provider: string; readonly issuer: string; readonly subject: string }[];
}

/** A value that is not as before: counted in the report by the kind. */
export type Oddity =
  | "an id of no record"
  | "a file that is missing"
  | "a file above 10 MiB"
  | "a text with U+0000, which becomes U+FFFD"
  | "a number in JSON that no double holds, which becomes a text"
  | "JSON of more than 100 levels, which becomes a text"
  | "a number that no double holds, which is rounded"
  | "a number or a time that Socle does not know, which becomes null"
  | "an address of a file that no record has, which stays";

/** Takes a value that is not as before. */
export type NoteOddity = (oddity: Oddity, field: string) => void;

/** Takes an oddity of a value whose field is known. */
export type NoteInField = (oddity: Oddity) => void;

export interface MovedRow {
  readonly sourceId: string;
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The values by a definition, which says where an empty text is no value. */
  values(definition: CollectionDefinition, note: NoteOddity): Record<string, JsonValue>;
  /** The files of the row that can be moved. */
  files(): readonly MovedFile[];
  readonly account: MovedAccount | null;
  /** The id of the owner; null for no owner. */
  readonly owner: string | null;
  /** The old address. */
  readonly address: string;
}

export interface MoveTable {
  /** The old names. */
  readonly from: string;
  /** The survey takes rules away that stored rows break. */
  definition: CollectionDefinition;
  /** Lines for the file of the definition. */
  readonly comments: readonly string[];
  readonly count: number;
  rows(): Iterable<MovedRow>;
  /** Whether the source has the row of an old id. */
  has(sourceId: string): boolean;
}

export interface MoveSource {
  /** As in "moved from PocketBase". */
  readonly label: string;
  /** Users come first. */
  readonly tables: readonly MoveTable[];
  readonly findings: readonly MoveFinding[];
  /** Bytes of the rows. */
  readonly size: number;
}

/** The id of a record, user or file for an old id: the same in each run, so that a move goes on after a kill. @param time milliseconds since 1970. */
export function movedId(prefix: "rec" | "usr" | "fil", old: string, time: number): string {
  const hash = Bun.SHA256.hash(old, "hex");
  const at = time.toString(16).padStart(12, "0");
  return `${prefix}_${at.slice(0, 8)}-${at.slice(8)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`;
}
