/**
 * Segment: commits of a chain in one object of the place of a continuous backup. A line with the head, which is not encrypted, then the
 * head again and the commits, a line each, compressed with zstd, and encrypted in the age format if there is a recipient. The service
 * has no identity, so the head has all that a service must read of a segment.
 */
import { isObject, messageOf } from "../../base/kernel/index.ts";
import type { KeptCommit } from "../../store/database/index.ts";
import type { ChainPlace } from "../../store/journal/index.ts";
import { decrypt, type Encryption, encrypt, type Identity } from "./archive.ts";
import { frameOf, type Zlib } from "./waiting-commits.ts";

/** The layout of a segment. */
const format = 1;
/** The head has fewer bytes. */
export const headBytes = 1_024;
const digits = String(Number.MAX_SAFE_INTEGER).length;

export interface SegmentHead {
  /** The name of the chain. */
  readonly chain: string;
  /** 1 for the first segment of a place, then without a gap: of two services with one place, a single service writes a number. */
  readonly number: number;
  /** The random name of the run of the service that wrote the segment. */
  readonly role: string;
  /** The position of the first commit, and the id of the entry before. */
  readonly first: number;
  readonly before: string | null;
  /** The position and the id of the last commit. */
  readonly last: number;
  readonly id: string | null;
  /** The moments of the first and the last commit, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  /** The last position of the newest gap of the chain: the commits of a gap are in no segment. A segment that ends there is the gap. */
  readonly gap: number;
  /** The bytes of all entries of the chain so far. */
  readonly size: number;
  readonly isEncrypted: boolean;
}

/** A commit in a segment. */
export type SegmentCommit = Pick<KeptCommit, "position" | "at" | "id"> & { readonly entry: string };

export function segmentName(number: number): string {
  return `segment-${String(number).padStart(digits, "0")}`;
}

/** The number of a segment; null for a name of another object. */
export function numberOfName(name: string): number | null {
  return /^segment-\d{16}$/.test(name) ? Number(name.slice(-digits)) : null;
}

export function isGap({ gap, last }: SegmentHead): boolean {
  return gap === last;
}

/** The place in the chain behind a segment. */
export function endOf({ last, id }: SegmentHead): ChainPlace {
  return { position: last, id };
}

/** @param frames the lines of the commits; see `WaitingCommits`. */
export async function packSegment(
  head: SegmentHead,
  frames: readonly Uint8Array[],
  { zlib, encryption }: { zlib: Zlib; encryption: Encryption | null },
): Promise<Uint8Array<ArrayBuffer>> {
  const first = Buffer.from(`${JSON.stringify({ format, ...head })}\n`);
  const packed = concatenated(frameOf(first, zlib), ...frames);
  if (encryption === null) return concatenated(first, packed);
  const sealed = await encrypt(new Blob([packed]).stream(), encryption);
  return concatenated(first, await new Response(sealed).bytes());
}

function concatenated(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

/** The head in the first bytes of a segment. @throws Error for bytes of another form. */
export function headIn(bytes: Uint8Array): { head: SegmentHead; line: string } {
  const end = bytes.indexOf(10);
  if (end < 0) throw new Error("its head is cut off");
  const line = Buffer.from(bytes.subarray(0, end)).toString();
  const value: unknown = JSON.parse(line);
  if (!isObject(value)) throw new Error("its head is no object");
  const { format: found, chain, number, role, first, before, last, id, from, to, gap, size, isEncrypted } = value;
  if (typeof found === "number" && found > format)
    throw new Error(`a newer version of Socle wrote its format ${found}`);
  const isNumber = (each: unknown): each is number => typeof each === "number" && Number.isSafeInteger(each);
  const isId = (each: unknown): each is string | null => each === null || typeof each === "string";
  const isGood =
    typeof chain === "string" &&
    typeof role === "string" &&
    typeof isEncrypted === "boolean" &&
    isId(before) &&
    isId(id) &&
    isNumber(number) &&
    isNumber(first) &&
    isNumber(last) &&
    isNumber(from) &&
    isNumber(to) &&
    isNumber(gap) &&
    isNumber(size);
  if (!isGood) throw new Error("its head is not complete");
  return { line, head: { chain, number, role, first, before, last, id, from, to, gap, size, isEncrypted } };
}

/** The commits of a segment, compared with the head. @throws Error for a segment that is damaged, cut off, or of another number. */
export async function readSegment(
  bytes: Uint8Array<ArrayBuffer>,
  identity: () => Promise<Identity>,
): Promise<{ head: SegmentHead; commits: SegmentCommit[] }> {
  const { head, line } = headIn(bytes);
  const body = bytes.slice(Buffer.byteLength(line) + 1);
  const opened = head.isEncrypted
    ? new Uint8Array(await new Response(await decrypt(new Blob([body]).stream(), await identity())).arrayBuffer())
    : body;
  const [repeated, ...lines] = Buffer.from(await unpacked(opened))
    .toString()
    .split("\n");
  if (repeated !== line) throw new Error("its head is not the head of its commits");
  const commits = lines.slice(0, -1).map(commitIn);
  const missing = isGap(head) ? 0 : head.last - head.first + 1 - commits.length;
  const isInOrder = commits.every(({ position }, i) => position === head.first + i);
  if (missing !== 0 || !isInOrder || (commits.length > 0 && commits.at(-1)?.id !== head.id))
    throw new Error("its commits are not the commits of its head");
  return { head, commits };
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  try {
    return await Bun.zstdDecompress(bytes);
  } catch (thrown) {
    throw new Error(`its bytes are damaged or cut off (${messageOf(thrown)})`);
  }
}

function commitIn(line: string): SegmentCommit {
  const [, position, id = "", at, entry = ""] = /^(\d+) (\S+) (\d+) (.*)$/s.exec(line) ?? [];
  return { position: Number(position), id, at: Number(at), entry };
}
