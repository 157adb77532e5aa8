/**
 * QR codes (ISO/IEC 18004) of texts of up to 666 bytes: bytes alone, the error correction M, versions 1 to 20. An authenticator app
 * reads the address of a secret from the code.
 */

/** Dark modules are true; row by row. */
export type QrCode = readonly (readonly boolean[])[];

/** For the level M, by version: the correction codewords of a block, and the number of blocks. */
const correctionWords = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const blockCounts = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];

interface Version {
  readonly number: number;
  /** Codewords of data. */
  readonly capacity: number;
  readonly words: number;
  readonly correction: number;
  readonly blocks: number;
}

/** Whether a module at a place is turned over, by the number of the mask. */
const masks: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The code of a text; null for a text that is too long. */
export function qrCodeOf(text: string): QrCode | null {
  const bytes = new TextEncoder().encode(text);
  const version = versionFor(bytes.length);
  if (version === null) return null;
  const words = interleaved(wordsOf(bytes, version), version);
  const codes = masks.map((isTurned, mask) => drawn({ version, words, mask, isTurned }));
  const penalties = codes.map(penaltyOf);
  return codes[penalties.indexOf(Math.min(...penalties))] ?? null;
}

function versionFor(bytes: number): Version | null {
  for (const [i, correction] of correctionWords.entries()) {
    const [number, blocks] = [i + 1, blockCounts[i] ?? 1];
    const aligned = alignmentsOf(number).length;
    const places = (16 * number + 128) * number + 64 - (aligned === 0 ? 0 : (25 * aligned - 10) * aligned - 55);
    const words = Math.floor((places - (number >= 7 ? 36 : 0)) / 8);
    const capacity = words - correction * blocks;
    // The kind, the length and the bytes.
    if (4 + lengthBits(number) + 8 * bytes <= 8 * capacity) return { number, capacity, words, correction, blocks };
  }
  return null;
}

function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

/** The middles of the alignment patterns, along each side. */
function alignmentsOf(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  const last = version * 4 + 10;
  return [6, ...Array.from({ length: count - 1 }, (_, i) => last - step * (count - 2 - i))];
}

/** The codewords of the data. */
function wordsOf(bytes: Uint8Array, { number, capacity }: Version): number[] {
  const bits: number[] = [];
  const add = (value: number, length: number): void => {
    for (let i = length - 1; i >= 0; i--) bits.push((value >>> i) & 1);
  };
  add(4, 4);
  add(bytes.length, lengthBits(number));
  for (const byte of bytes) add(byte, 8);
  add(0, Math.min(4, capacity * 8 - bits.length));
  add(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < capacity * 8; pad ^= 0xec ^ 0x11) add(pad, 8);
  return Array.from({ length: capacity }, (_, i) =>
    bits.slice(i * 8, i * 8 + 8).reduce((word, bit) => (word << 1) | bit, 0),
  );
}

/** Multiplies in the field of 256 elements with the polynomial 0x11d. */
function times(a: number, b: number): number {
  let product = 0;
  for (let i = 7; i >= 0; i--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> i) & 1) * a);
  return product;
}

/** The generator polynomial of Reed-Solomon codes, without the leading 1. */
function generatorOf(degree: number): number[] {
  let [result, root] = [[...Array<number>(degree - 1).fill(0), 1], 1];
  for (let i = 0; i < degree; i++) {
    result = result.map((each, j) => times(each, root) ^ (result[j + 1] ?? 0));
    root = times(root, 2);
  }
  return result;
}

/** The data and correction codewords of all blocks, in the order of the code. */
function interleaved(words: readonly number[], version: Version): number[] {
  const { blocks, correction } = version;
  const generator = generatorOf(correction);
  const shortLength = Math.floor(words.length / blocks);
  const firstLong = blocks - (words.length % blocks);
  const data = Array.from({ length: blocks }, (_, i) => {
    const start = i * shortLength + Math.max(0, i - firstLong);
    return words.slice(start, start + shortLength + (i >= firstLong ? 1 : 0));
  });
  const checks = data.map((block) =>
    block.reduce((rest, word) => {
      const factor = word ^ (rest[0] ?? 0);
      return generator.map((each, i) => (rest[i + 1] ?? 0) ^ times(each, factor));
    }, Array<number>(correction).fill(0)),
  );
  const columns = (all: readonly number[][], length: number): number[] =>
    Array.from({ length }, (_, i) => all.flatMap((block) => block.slice(i, i + 1))).flat();
  return [...columns(data, shortLength + 1), ...columns(checks, correction)];
}

interface Drawing {
  readonly version: Version;
  readonly words: readonly number[];
  readonly mask: number;
  readonly isTurned: (x: number, y: number) => boolean;
}

function drawn({ version: { number }, words, mask, isTurned }: Drawing): QrCode {
  const size = number * 4 + 17;
  /** Undefined for a module of the data. */
  const fixed: (boolean | undefined)[][] = Array.from({ length: size }, () => []);
  const set = (x: number, y: number, isDark: boolean): void => {
    const row = fixed[y];
    if (row !== undefined && x >= 0 && x < size) row[x] = isDark;
  };
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0);
    set(i, 6, i % 2 === 0);
  }
  const square = (x: number, y: number, radius: number): void => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++) {
        const ring = Math.max(Math.abs(dx), Math.abs(dy));
        set(x + dx, y + dy, ring !== 4 && ring !== (radius === 4 ? 2 : 1));
      }
  };
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(x, y, 4);
  const middles = alignmentsOf(number);
  const last = middles.at(-1);
  for (const x of middles)
    for (const y of middles) {
      const isCorner = (x === 6 && (y === 6 || y === last)) || (x === last && y === 6);
      if (!isCorner) square(x, y, 2);
    }
  drawFormat(set, size, mask);
  if (number >= 7) drawVersion(set, size, number);
  return filled(fixed, words, isTurned);
}

type Set = (x: number, y: number, isDark: boolean) => void;

/** Bits with the rest of a division by a polynomial behind. */
function withRest(value: number, polynomial: number, length: number): number {
  let rest = value;
  for (let i = 0; i < length; i++) rest = (rest << 1) ^ ((rest >>> (length - 1)) * polynomial);
  return (value << length) | rest;
}

/** The level M is 0. */
function drawFormat(set: Set, size: number, mask: number): void {
  const bits = withRest(mask, 0x537, 10) ^ 0x5412;
  const bit = (i: number): boolean => ((bits >>> i) & 1) !== 0;
  for (let i = 0; i < 15; i++) {
    const near = i < 6 ? i : i < 8 ? i + 1 : 14 - i;
    if (i < 8) set(8, near, bit(i));
    else set(i === 8 ? 7 : near, 8, bit(i));
    if (i < 8) set(size - 1 - i, 8, bit(i));
    else set(8, size - 15 + i, bit(i));
  }
  set(8, size - 8, true);
}

function drawVersion(set: Set, size: number, number: number): void {
  const bits = withRest(number, 0x1f25, 12);
  for (let i = 0; i < 18; i++) {
    const isDark = ((bits >>> i) & 1) !== 0;
    const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)];
    set(a, b, isDark);
    set(b, a, isDark);
  }
}

/** Writes the codewords in columns of two modules, upwards and downwards in turn. */
function filled(
  fixed: readonly (readonly (boolean | undefined)[])[],
  words: readonly number[],
  isTurned: Drawing["isTurned"],
): QrCode {
  const size = fixed.length;
  const code = Array.from({ length: size }, (_, y) => Array.from({ length: size }, (_, x) => fixed[y]?.[x] ?? false));
  let i = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    // The column of the timing pattern has no data.
    if (right === 6) right = 5;
    const isUpwards = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++)
      for (const x of [right, right - 1]) {
        const y = isUpwards ? size - 1 - step : step;
        const row = code[y];
        if (row === undefined || fixed[y]?.[x] !== undefined) continue;
        const bit = (((words[i >>> 3] ?? 0) >>> (7 - (i & 7))) & 1) !== 0;
        row[x] = bit !== isTurned(x, y);
        i += 1;
      }
  }
  return code;
}

/** How hard a code is to read: long runs, blocks, patterns like those of the corners, and too much of a colour. */
function penaltyOf(code: QrCode): number {
  const size = code.length;
  const columns = Array.from({ length: size }, (_, x) => code.map((row) => row[x] ?? false));
  let penalty = 0;
  for (const line of [...code, ...columns]) {
    const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
    for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) penalty += run.length - 2;
    penalty += 40 * [...text.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  for (let y = 1; y < size; y++)
    for (let x = 1; x < size; x++) {
      const isDark = code[y]?.[x];
      if (code[y]?.[x - 1] === isDark && code[y - 1]?.[x] === isDark && code[y - 1]?.[x - 1] === isDark) penalty += 3;
    }
  const dark = code.flat().filter(Boolean).length;
  return penalty + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}
