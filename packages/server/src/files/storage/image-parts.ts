/**
 * Parts of images that the runtime's decoder does not read: the orientation in a PNG or a WebP, and the first frame of an
 * animated WebP. Damaged images give no part; the decoder reports the damage.
 */

/** The turn and the mirroring that show an image upright: first the turn clockwise, then the mirror. */
export interface Upright {
  readonly rotate: 0 | 90 | 180 | 270;
  /** Left and right are exchanged after the turn. */
  readonly mirror: boolean;
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
  /** The chunk with its header and its padding. */
  readonly whole: Buffer;
}

/** The EXIF orientations 1 to 8 (EXIF 2.32, "Orientation"). */
const turns: readonly Upright[] = [
  { rotate: 0, mirror: false },
  { rotate: 0, mirror: true },
  { rotate: 180, mirror: false },
  { rotate: 180, mirror: true },
  { rotate: 90, mirror: true },
  { rotate: 90, mirror: false },
  { rotate: 270, mirror: true },
  { rotate: 270, mirror: false },
];

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The bytes before the chunks inside of an `ANMF` chunk: the place, size and duration of the frame. */
const frameHeader = 16;

function* pngChunks(image: Buffer): Generator<Chunk> {
  for (let start = pngSignature.length; start + 12 <= image.length; ) {
    const end = start + 12 + image.readUInt32BE(start);
    if (end > image.length) return;
    const whole = image.subarray(start, end);
    yield { type: whole.toString("latin1", 4, 8), data: whole.subarray(8, -4), whole };
    start = end;
  }
}

/** The chunks of a RIFF file after its 12 bytes of header, or of a frame after its header. */
function* riffChunks(bytes: Buffer, first: number): Generator<Chunk> {
  for (let start = first; start + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(start + 4);
    const end = start + 8 + size;
    if (end > bytes.length) return;
    yield {
      type: bytes.toString("latin1", start, start + 4),
      data: bytes.subarray(start + 8, end),
      whole: bytes.subarray(start, end + (size % 2)),
    };
    start = end + (size % 2);
  }
}

function isPng(image: Buffer): boolean {
  return image.subarray(0, pngSignature.length).equals(pngSignature);
}

function isWebp(image: Buffer): boolean {
  return image.toString("latin1", 0, 4) === "RIFF" && image.toString("latin1", 8, 12) === "WEBP";
}

function find(chunks: Iterable<Chunk>, type: string): Buffer | null {
  for (const chunk of chunks) if (chunk.type === type) return chunk.data;
  return null;
}

/** The orientation in a block of EXIF, which is a TIFF file (TIFF 6.0, "Image File Directory"); 1 without the tag. */
function orientationIn(block: Buffer): number {
  // Some programs write the marker of a JPEG before the block.
  const exif = block.toString("latin1", 0, 6) === "Exif\0\0" ? block.subarray(6) : block;
  if (exif.length < 8) return 1;
  const isLittle = exif.toString("latin1", 0, 2) === "II";
  const short = (at: number): number => (isLittle ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const directory = isLittle ? exif.readUInt32LE(4) : exif.readUInt32BE(4);
  if (directory + 2 > exif.length) return 1;
  const count = short(directory);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (at + 12 > exif.length) return 1;
    if (short(at) === 0x0112) return short(at + 8);
  }
  return 1;
}

function exifOf(image: Buffer): Buffer | null {
  if (isPng(image)) return find(pngChunks(image), "eXIf");
  return isWebp(image) ? find(riffChunks(image, 12), "EXIF") : null;
}

/** The turn that shows a PNG (PNG, third edition, "eXIf") or a WebP upright. The decoder turns a JPEG itself. */
export function uprightOf(image: Buffer): Upright {
  const exif = exifOf(image);
  return turns[exif === null ? 0 : orientationIn(exif) - 1] ?? { rotate: 0, mirror: false };
}

/** The first frame of an animated WebP as an image of its own (WebP container, "Animation"); any other image as given. */
export function stillOf(image: Buffer): Buffer {
  const frame = isWebp(image) ? find(riffChunks(image, 12), "ANMF") : null;
  if (frame === null || frame.length < frameHeader) return image;
  const parts = [...riffChunks(frame, frameHeader)].filter(({ type }) => ["ALPH", "VP8 ", "VP8L"].includes(type));
  const chunks = parts.map(({ whole }) => whole);
  if (parts.some(({ type }) => type === "ALPH")) {
    // An alpha channel needs the extended header: the flag of the channel, and the size of the frame less one.
    const header = Buffer.alloc(18);
    header.write("VP8X", "latin1");
    header.writeUInt32LE(10, 4);
    header[8] = 0x10;
    frame.copy(header, 12, 6, 12);
    chunks.unshift(header);
  }
  const body = Buffer.concat(chunks);
  const head = Buffer.from("RIFF\0\0\0\0WEBP", "latin1");
  head.writeUInt32LE(body.length + 4, 4);
  return Buffer.concat([head, body]);
}
