/** Damage of a closed database file: pages that are zeroed, overwritten, swapped or cut off, and bits that flip. */
import { closeSync, openSync, readFileSync, readSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { withDatabase } from "./disks-data.ts";

export const pageBytes = 4_096;
const harms = ["zeroed", "random", "swapped", "truncated"] as const;
type Harm = (typeof harms)[number];

interface Page {
  readonly number: number;
  /** The table or index that owns the page; "freelist" for a free page. */
  readonly owner: string;
  readonly kind: "leaf" | "internal" | "overflow" | "trunk" | "free";
}

export interface PageFault {
  readonly name: string;
  readonly page: Page;
  readonly harm: Harm;
  /** Another page of the same kind, for "swapped". */
  readonly other: number;
}

/** Whether two pages hold no rows, or the same rows: then a swap cannot be noticed. */
function areAlike(file: Buffer, one: Page, other: Page): boolean {
  const [mine, its] = [one, other].map(({ number }) => file.subarray((number - 1) * pageBytes, number * pageBytes));
  if (mine === undefined || its === undefined || mine.equals(its)) return true;
  return one.number > 1 && mine.readUInt16BE(3) === 0 && its.readUInt16BE(3) === 0;
}

/** All pages of the database of a folder. */
function pagesOf(folder: string): Page[] {
  const pages = withDatabase(folder, (database) =>
    database
      .query<{ pageno: number; name: string; pagetype: "leaf" | "internal" | "overflow" }, []>(
        "SELECT pageno, name, pagetype FROM dbstat ORDER BY pageno",
      )
      .all()
      .map(({ pageno, name, pagetype }): Page => ({ number: pageno, owner: name, kind: pagetype })),
  );
  const file = readFileSync(join(folder, "socle.db"));
  for (let trunk = file.readUInt32BE(32); trunk !== 0; ) {
    const at = (trunk - 1) * pageBytes;
    pages.push({ number: trunk, owner: "freelist", kind: "trunk" });
    const leaves = file.readUInt32BE(at + 4);
    for (let i = 0; i < leaves; i++)
      pages.push({ number: file.readUInt32BE(at + 8 + i * 4), owner: "freelist", kind: "free" });
    trunk = file.readUInt32BE(at);
  }
  return pages;
}

/**
 * Faults in each table and index: a page of each kind, chosen at random, with each harm. Pages of overflow hold only text,
 * which no checksum guards: such pages are hit by flipped bits instead.
 */
export function pageFaults(folder: string, random: () => number): PageFault[] {
  const file = readFileSync(join(folder, "socle.db"));
  const pages = pagesOf(folder).filter(({ kind }) => kind !== "overflow");
  const pick = (of: readonly Page[]): Page | undefined => of[Math.floor(random() * of.length)];
  const faults: PageFault[] = [];
  for (const owner of new Set(pages.map((page) => page.owner)))
    for (const kind of new Set(pages.filter((page) => page.owner === owner).map((page) => page.kind)))
      for (const harm of harms) {
        const same = pages.filter((page) => page.owner === owner && page.kind === kind);
        const page = pick(same);
        const akin = same.length > 1 ? same : pages.filter((other) => other.kind === kind && other.number > 1);
        if (page === undefined) continue;
        const other = harm === "swapped" ? pick(akin.filter((each) => !areAlike(file, page, each))) : undefined;
        if (harm === "swapped" && other === undefined) continue;
        const name = `${harm}: page ${page.number}, ${kind} of ${owner}${harm === "swapped" ? `, with page ${other?.number}` : ""}`;
        faults.push({ name, page, harm, other: other?.number ?? 0 });
      }
  return faults;
}

function editing(path: string, work: (file: number) => void): void {
  const file = openSync(path, "r+");
  try {
    work(file);
  } finally {
    closeSync(file);
  }
}

export function damagePage(folder: string, { page, harm, other }: PageFault, random: () => number): void {
  const path = join(folder, "socle.db");
  const at = (page.number - 1) * pageBytes;
  if (harm === "truncated") {
    truncateSync(path, at);
    return;
  }
  editing(path, (file) => {
    const bytes = new Uint8Array(pageBytes);
    if (harm === "random") for (let i = 0; i < pageBytes; i++) bytes[i] = random() * 256;
    if (harm === "swapped") {
      const from = (other - 1) * pageBytes;
      const mine = new Uint8Array(pageBytes);
      readSync(file, mine, 0, pageBytes, at);
      readSync(file, bytes, 0, pageBytes, from);
      writeSync(file, mine, 0, pageBytes, from);
    }
    writeSync(file, bytes, 0, pageBytes, at);
  });
}

/** Flips one bit at a random place among the first `within` bytes of a file, and answers the place of the byte. */
export function flipBit(path: string, random: () => number, within: number = statSync(path).size): number {
  const at = Math.floor(random() * within);
  editing(path, (file) => {
    const byte = new Uint8Array(1);
    readSync(file, byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ (1 << Math.floor(random() * 8));
    writeSync(file, byte, 0, 1, at);
  });
  return at;
}
