/** MIME types: what the bytes tell, and false signs. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { png } from "../../../test/images.ts";
import { randomSeed } from "../../../test/random.ts";
import { detectType, sampleSize } from "./mime.ts";

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

const exe = Buffer.concat([latin1("MZ\x90\0"), Buffer.alloc(60), latin1("PE\0\0")]);
exe.writeUInt32LE(64, 60);
const bmp = Buffer.concat([latin1("BM"), Buffer.from([70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0])]);

test.each<[string, string | Buffer, string]>([
  ["a.csv", "BMI,weight\n21,70\n", "text/csv"],
  ["a.txt", "MZ is how a program starts", "text/plain"],
  ["a.txt", "ID3 is a tag", "text/plain"],
  ["a.txt", "GIF89a is a format", "text/plain"],
  ["a.txt", "%PDF-1.7 is a format", "text/plain"],
  ["a.txt", "\ufeff<?xml version='1.0'?>", "text/plain"],
  ["a.txt", `BM${"ä".repeat(3_000)}`, "text/plain"],
  ["a.txt", "RIFFxxxxWEBP", "text/plain"],
  ["a.txt", "BM\f\r\n\t", "text/plain"],
  ["a.png", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/png"],
  ["a.csv", latin1("BMI;gr\xf6\xdfe\n"), "text/csv"],
  ["a.csv", latin1("MAC Adresse;Ger\xe4t\n"), "text/csv"],
  ["a.log", latin1("MZ\x1b[31mred\x1b[0m"), "text/plain"],
  ["a.bin", Buffer.from([0, 1]), "application/octet-stream"],
  ["a.bin", Buffer.from([0, 1, 0]), "application/octet-stream"],
  ["a.bin", Buffer.from([0, 1, 0, 0]), "application/octet-stream"],
  ["a.bin", Buffer.from([0xff, 0xd8, 0xff]), "application/octet-stream"],
  ["a.bin", Buffer.from([0x78, 0x01, 0x4b, 0x04, 0x00]), "application/octet-stream"],
  ["a.bin", Buffer.from([0xff, 0xfb, 1, 2, 3, 4]), "application/octet-stream"],
  ["a.mp3", Buffer.from([0xff, 0xfb, 1, 2, 3, 4]), "audio/mpeg"],
  ["a.bin", Buffer.from([0xff, 0xd8, 0xff, 0xe0]), "image/jpeg"],
  ["a.txt", png(2, 2), "image/png"],
  ["a.txt", latin1("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "application/pdf"],
  ["a.txt", latin1("GIF89a\x01\0\x01\0\0\0\0"), "image/gif"],
  ["a.txt", latin1("ID3\x03\0\0\0\0\0\0"), "audio/mpeg"],
  ["a.txt", bmp, "image/bmp"],
  ["a.txt", exe, "application/x-msdownload"],
])("%s with %j is %s", async (filename, content, type) => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  expect(await detectType(bytes.subarray(0, sampleSize), filename)).toBe(type);
});

test("a text never gets its type from its bytes, at any cut of the sample", async () => {
  const signatures = [
    "",
    "BM",
    "MZ",
    "ID3",
    "GIF89a",
    "%PDF-",
    "RIFF",
    "OggS",
    "fLaC",
    "<?xml ",
    "\ufeff",
    "{\\rtf",
    "#!AMR",
  ];
  const character = fc
    .integer({ min: 0x09, max: 0x10_ffff })
    .filter((code) => !(code >= 0xd800 && code <= 0xdfff))
    .map((code) => String.fromCodePoint(code))
    .filter((text) => !/\p{Cc}/u.test(text) || /[\t\n\f\r]/.test(text));
  const text = fc.tuple(
    fc.constantFrom(...signatures),
    fc.oneof(fc.string({ unit: character }), fc.string({ unit: character, minLength: 1_000, maxLength: 5_000 })),
  );
  await fc.assert(
    fc.asyncProperty(text, async ([signature, rest]) => {
      const sample = Buffer.from(signature + rest).subarray(0, sampleSize);
      expect(await detectType(sample, "a.csv")).toBe("text/csv");
    }),
    { seed: randomSeed("types of texts"), numRuns: 300 },
  );
});
