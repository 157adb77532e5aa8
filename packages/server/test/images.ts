/** PNG images for tests. */
import { crc32, deflateSync } from "node:zlib";

function chunk(type: string, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, "latin1");
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

function header(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.writeUInt32BE(width, 0);
  bytes.writeUInt32BE(height, 4);
  bytes.set([8, 2], 8);
  return bytes;
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG (ISO 15948) of the given rows of grey values, with the given EXIF orientation. */
export function greyPng(pixels: readonly (readonly number[])[], orientation?: number): Buffer {
  const rows = Buffer.from(pixels.flatMap((row) => [0, ...row.flatMap((grey) => [grey, grey, grey])]));
  const exif = Buffer.from("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0?\0\0\0\0\0\0", "latin1");
  exif[19] = orientation ?? 1;
  const parts = [
    chunk("IHDR", header(pixels[0]?.length ?? 0, pixels.length)),
    ...(orientation === undefined ? [] : [chunk("eXIf", exif)]),
    chunk("IDAT", deflateSync(rows)),
  ];
  return Buffer.concat([signature, ...parts, chunk("IEND", Buffer.alloc(0))]);
}

/** A PNG (ISO 15948) with a pattern of colours. `claimed` is the size in the header, which may be a lie. */
export function png(width: number, height: number, claimed = { width, height }): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 1; x <= width * 3; x++) rows[y * (width * 3 + 1) + x] = (x * 7 + y * 3) % 256;
  const parts = [chunk("IHDR", header(claimed.width, claimed.height)), chunk("IDAT", deflateSync(rows))];
  return Buffer.concat([signature, ...parts, chunk("IEND", Buffer.alloc(0))]);
}
