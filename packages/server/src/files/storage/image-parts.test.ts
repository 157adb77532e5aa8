import { describe, expect, test } from "bun:test";
import { openFiles } from "../../../test/files.ts";
import { greyPng, png } from "../../../test/images.ts";
import { stillOf, uprightOf } from "./image-parts.ts";

const { request, store } = await openFiles();

async function thumbnail(content: Uint8Array, filename: string, size = "100x100"): Promise<Uint8Array<ArrayBuffer>> {
  const id = await store(content, filename);
  const answer = await request("GET", `/api/storage/${id}?thumb=${size}`);
  expect([filename, answer.status]).toEqual([filename, 200]);
  return new Uint8Array(answer.bytes);
}

async function shapeOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { width, height, format } = await new Bun.Image(bytes).metadata();
  return `${format} ${width}x${height}`;
}

/** A chunk of a RIFF file, with its padding. */
function riffChunk(type: string, data: Uint8Array): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

function webp(...chunks: Uint8Array[]): Buffer {
  return riffChunk("RIFF", Buffer.concat([Buffer.from("WEBP"), ...chunks]));
}

/** The chunks of a WebP that Bun has made, without the header of the file. */
async function encoded(source: Buffer, lossless: boolean): Promise<Buffer> {
  return Buffer.from(await new Bun.Image(Uint8Array.from(source)).webp({ lossless }).bytes()).subarray(12);
}

function canvas(flags: number, width: number, height: number): Buffer {
  const data = Buffer.alloc(10);
  data[0] = flags;
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return riffChunk("VP8X", data);
}

function frame(width: number, height: number, chunks: Uint8Array): Buffer {
  const head = Buffer.alloc(16);
  head.writeUIntLE(width - 1, 6, 3);
  head.writeUIntLE(height - 1, 9, 3);
  return riffChunk("ANMF", Buffer.concat([head, chunks]));
}

describe("the orientation of an image", () => {
  const pixels = [
    [10, 60, 110],
    [160, 210, 250],
  ];
  /** The rows that a person sees, for each orientation of EXIF. */
  const upright: readonly (readonly (readonly number[])[])[] = [
    pixels,
    [
      [110, 60, 10],
      [250, 210, 160],
    ],
    [
      [250, 210, 160],
      [110, 60, 10],
    ],
    [
      [160, 210, 250],
      [10, 60, 110],
    ],
    [
      [10, 160],
      [60, 210],
      [110, 250],
    ],
    [
      [160, 10],
      [210, 60],
      [250, 110],
    ],
    [
      [250, 110],
      [210, 60],
      [160, 10],
    ],
    [
      [110, 250],
      [60, 210],
      [10, 160],
    ],
  ];
  test.each([1, 2, 3, 4, 5, 6, 7, 8])("orientation %d of a PNG is upright in the thumbnail", async (orientation) => {
    const expected = await thumbnail(greyPng(upright[orientation - 1] ?? []), "plain.png");
    expect(await thumbnail(greyPng(pixels, orientation), "turned.png")).toEqual(expected);
  });

  test.each([0, 9, 255])("orientation %d, which EXIF does not know, turns nothing", async (orientation) => {
    expect(await thumbnail(greyPng(pixels, orientation), "a.png")).toEqual(await thumbnail(greyPng(pixels), "b.png"));
  });

  test("orientation 6 of a WebP swaps the sides, with the marker of a JPEG before the block, too", async () => {
    const still = await encoded(png(300, 200), false);
    const block = Buffer.from("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", "latin1");
    for (const exif of [block, Buffer.concat([Buffer.from("Exif\0\0"), block])]) {
      const image = webp(canvas(0x08, 300, 200), still, riffChunk("EXIF", exif));
      expect(await shapeOf(await thumbnail(image, "a.webp"))).toBe("webp 67x100");
    }
  });

  test("a block of EXIF that is cut anywhere gives no orientation, and no error", () => {
    const whole = greyPng(pixels, 6);
    const at = whole.indexOf("eXIf");
    for (let length = 0; length < 26; length++) {
      const cut = Buffer.from(whole);
      cut.writeUInt32BE(length, at - 4);
      expect(() => uprightOf(cut)).not.toThrow();
    }
    expect(uprightOf(whole)).toEqual({ rotate: 90, mirror: false });
  });
});

describe("an animated WebP", () => {
  test.each([
    ["lossy", false],
    ["lossless", true],
  ])("with %s frames has a thumbnail of the first frame", async (_, lossless) => {
    const [first, second] = [await encoded(png(300, 200), lossless), await encoded(png(300, 200), lossless)];
    const frames = [frame(300, 200, first), frame(300, 200, second)];
    const animated = webp(canvas(0x02, 300, 200), riffChunk("ANIM", Buffer.alloc(6)), ...frames);
    const expected = await thumbnail(webp(first), "still.webp");
    expect(await thumbnail(animated, "animated.webp")).toEqual(expected);
    expect(await shapeOf(expected)).toBe("webp 100x67");
  });

  test("with an alpha channel keeps the channel", async () => {
    // An uncompressed channel (WebP container, "Alpha"): a byte of header, then a byte for each pixel.
    const alpha = riffChunk("ALPH", Buffer.alloc(1 + 64 * 64, 0x80).fill(0, 0, 1));
    const image = await encoded(png(64, 64), false);
    const animated = webp(canvas(0x12, 64, 64), frame(64, 64, Buffer.concat([alpha, image])));
    const expected = await thumbnail(webp(canvas(0x10, 64, 64), alpha, image), "still.webp", "32x32");
    expect(await thumbnail(animated, "animated.webp", "32x32")).toEqual(expected);
  });

  test("a frame that is cut is a damaged file, and no defect", async () => {
    const animated = webp(
      canvas(0x02, 300, 200),
      frame(300, 200, (await encoded(png(300, 200), false)).subarray(0, 40)),
    );
    const id = await store(animated, "cut.webp");
    const answer = await request("GET", `/api/storage/${id}?thumb=100x100`);
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
    for (let length = 0; length < animated.length; length++)
      expect(() => stillOf(animated.subarray(0, length))).not.toThrow();
  });
});
