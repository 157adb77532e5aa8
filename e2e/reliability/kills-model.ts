/**
 * The clients' side of the kills: acknowledged writes, and requested writes that may or may not have been done. The content
 * of each record and file follows from the number, so that half a content is not taken for whole.
 */

/** @returns the text of a version of a record; some texts take more than a page of the database. */
export function textOf(n: number, version: number): string {
  const word = `${n}.${version} `;
  return word.repeat(1 + ((n * 7 + version * 13) % (n % 10 === 0 ? 2_500 : 60)));
}

/** The bytes of a file, which follow from a number; the number stands at the beginning. */
export function bytesOf(n: number): Uint8Array<ArrayBuffer> {
  const size = 8 + ((n * 7_919) % (n % 5 === 0 ? 400_000 : 20_000));
  const bytes = new Uint8Array(size).fill(n % 251);
  new DataView(bytes.buffer).setUint32(0, n);
  new DataView(bytes.buffer).setUint32(4, size);
  return bytes;
}

/** Whether given bytes are the bytes of some file, whole. */
export function areWhole(bytes: Uint8Array): boolean {
  if (bytes.byteLength < 8) return false;
  const n = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  return Buffer.compare(bytes, bytesOf(n)) === 0;
}

/** A record as known to one client, which makes one request about the record at a time. */
export interface Known {
  readonly n: number;
  /** Null until the creation is acknowledged. */
  id: string | null;
  /** The last acknowledged version; 0 before the first. */
  acknowledged: number;
  /** The last requested version. */
  tried: number;
  deletion: "none" | "tried" | "acknowledged";
}

export interface StoredItem {
  readonly id: string;
  readonly n: number;
  readonly version: number;
  readonly text: string;
}

/** The known records of a collection. */
export class KnownRecords {
  readonly all = new Map<number, Known>();
  /** The number of writes ever acknowledged. */
  acknowledged = 0;

  create(n: number): Known {
    const known: Known = { n, id: null, acknowledged: 0, tried: 1, deletion: "none" };
    this.all.set(n, known);
    return known;
  }

  /** A request that is acknowledged. */
  acknowledge(change: () => void): void {
    change();
    this.acknowledged += 1;
  }

  /** The contradictions between the clients' knowledge and the stored data; afterwards the clients know the stored data. */
  compare(stored: readonly StoredItem[]): string[] {
    const problems: string[] = [];
    const byNumber = new Map(stored.map((item) => [item.n, item]));
    if (byNumber.size !== stored.length) problems.push("a record is there twice");
    for (const { n, version, text } of stored) {
      if (text !== textOf(n, version)) problems.push(`record ${n} is half-written: version ${version}`);
      if (!this.all.has(n)) problems.push(`record ${n} was asked for by nobody`);
    }
    for (const known of this.all.values()) {
      const item = byNumber.get(known.n);
      const problem = item === undefined ? missing(known) : different(known, item);
      if (problem !== null) problems.push(problem);
      if (item === undefined) this.all.delete(known.n);
      else Object.assign(known, { id: item.id, acknowledged: item.version, tried: item.version, deletion: "none" });
    }
    return problems;
  }
}

function missing({ n, acknowledged, deletion }: Known): string | null {
  return acknowledged > 0 && deletion === "none"
    ? `record ${n} is lost, version ${acknowledged} was acknowledged`
    : null;
}

function different({ n, id, acknowledged, tried, deletion }: Known, item: StoredItem): string | null {
  if (deletion === "acknowledged") return `record ${n} is back after its deletion`;
  if (id !== null && item.id !== id) return `record ${n} has another id`;
  if (item.version >= acknowledged && item.version <= tried) return null;
  return `record ${n} has version ${item.version}: ${acknowledged} was acknowledged, ${tried} asked for`;
}

/** A file that was acknowledged. */
export interface KnownFile {
  readonly n: number;
  deletion: "none" | "tried" | "acknowledged";
}

/** A session that was acknowledged since the last start. */
export interface KnownSession {
  readonly token: string;
  logout: "none" | "tried" | "acknowledged";
}

/** Everything that the clients know. */
export class Knowledge {
  readonly items = new KnownRecords();
  readonly notes = new KnownRecords();
  readonly files = new Map<string, KnownFile>();
  sessions: KnownSession[] = [];
  /** Runs of the job that were acknowledged since the last check. */
  jobRuns: string[] = [];
  /** The field of `notes` from the last acknowledged migration; null without a field. */
  extra: string | null = null;
  /** The fields of migrations that were requested since. */
  triedExtras: (string | null)[] = [];
  /** Acknowledged, beside records. */
  acknowledged = { uploads: 0, deletions: 0, logins: 0, logouts: 0, jobs: 0, migrations: 0 };
  /** Requests and uploads broken by a kill, and uploads broken off by the client. */
  broken = { requests: 0, uploads: 0 };
}
