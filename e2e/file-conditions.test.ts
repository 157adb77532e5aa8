/**
 * Conditional requests and ranges (RFC 9110, 13 and 14) against the executable: one table for a stored file, a link to a closed file
 * and a page of `public`, and random ranges of a larger file.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fileForm, formType } from "../packages/server/test/forms.ts";
import { randomNumbers, randomSeed } from "../packages/server/test/random.ts";
import { post, project, serve } from "./kit.ts";

const content = "0123456789";
const large = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * 7 + (n >> 8)) & 0xff));
const cwd = await project({ config: { public: "public" } });
await Bun.write(join(cwd, "public/digits.bin"), content);
await Bun.write(join(cwd, "public/large.bin"), large);
const server = await serve(cwd);
const registered = await post(`${server.url}/api/auth/register`, {
  email: "me@example.com",
  password: "correct horse battery",
});
const owner = { Authorization: `Bearer ${((await registered.json()) as { accessToken: string }).accessToken}` };

async function store(bytes: string | Uint8Array, visibility: "public" | "protected"): Promise<string> {
  const form = fileForm(bytes, { visibility });
  const headers = { ...owner, "Content-Type": formType };
  const answer = await fetch(`${server.url}/api/storage/upload`, { method: "POST", headers, body: form });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

async function linkTo(id: string): Promise<string> {
  const answer = await post(`${server.url}/api/storage/${id}/link`, {}, owner);
  return new URL(((await answer.json()) as { url: string }).url, server.url).href;
}

const sources: Readonly<Record<string, string>> = {
  "a stored file": `${server.url}/api/storage/${await store(content, "public")}`,
  "a link to a closed file": await linkTo(await store(content, "protected")),
  "a page of public": `${server.url}/digits.bin`,
};

interface Known {
  /** The entity tag of the file, with quotes. */
  readonly etag: string;
  /** The date of the last change. */
  readonly modified: string;
}

const later = "Fri, 01 Jan 2100 00:00:00 GMT";
const earlier = "Sat, 01 Jan 2000 00:00:00 GMT";
const whole = { status: 200, body: content };
const part = (body: string, start: number): object => ({
  status: 206,
  body,
  range: `bytes ${start}-${start + body.length - 1}/10`,
});
const same = { status: 304, body: "" };
const failed = { status: 412 };
const beyond = { status: 416, range: "bytes */10" };

/** Headers of a request, and the answer. */
const table: readonly (readonly [name: string, headers: (known: Known) => Record<string, string>, answer: object])[] = [
  ["no condition", () => ({}), whole],
  // Ranges (14.1.2, 14.2).
  ["the first byte", () => ({ Range: "bytes=0-0" }), part("0", 0)],
  ["the last byte by its place", () => ({ Range: "bytes=9-9" }), part("9", 9)],
  ["the last byte by a suffix", () => ({ Range: "bytes=-1" }), part("9", 9)],
  ["an end far behind the last byte", () => ({ Range: "bytes=8-99999999999999999999" }), part("89", 8)],
  ["a suffix of the whole", () => ({ Range: "bytes=-10" }), part(content, 0)],
  ["a suffix that is too long", () => ({ Range: "bytes=-99999999999999999999" }), part(content, 0)],
  ["zeros in front", () => ({ Range: "bytes=0002-0004" }), part("234", 2)],
  ["a unit in capitals", () => ({ Range: "BYTES=0-0" }), part("0", 0)],
  ["the first byte behind the end", () => ({ Range: "bytes=10-" }), beyond],
  ["a range behind the end", () => ({ Range: "bytes=10-20" }), beyond],
  ["a range that begins behind the end and ends before the start", () => ({ Range: "bytes=12-3" }), beyond],
  ["an empty suffix", () => ({ Range: "bytes=-0" }), beyond],
  // A range that is not valid is as if absent; a server may ignore several ranges.
  ...[
    ...["bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=1-b", "bytes=--1", "bytes=+1-2", "bytes=1.0-2"],
    ...[
      "bytes=0x1-2",
      "bytes=1 2-3",
      "bytes 0-1",
      "bytes:0-1",
      "octets=0-1",
      "=0-1",
      "0-1",
      "bytes=0-1,4-5",
      "bytes=0-,-1",
    ],
    ...["bytes=20-30,40-50", "bytes=0-0-0", `bytes=${"0-0,".repeat(500)}0-0`],
  ].map((range) => [`the range ${range.slice(0, 30)}`, () => ({ Range: range }), whole] as const),
  // Tags (13.1.1, 13.1.2).
  ["If-None-Match of the tag", ({ etag }) => ({ "If-None-Match": etag }), same],
  ["If-None-Match of the weak tag", ({ etag }) => ({ "If-None-Match": `W/${etag}` }), same],
  ["If-None-Match of any", () => ({ "If-None-Match": "*" }), same],
  ["If-None-Match of several", ({ etag }) => ({ "If-None-Match": `"a" , ${etag},"b"` }), same],
  ["If-None-Match of another", () => ({ "If-None-Match": '"a"' }), whole],
  ["If-None-Match without quotes", ({ etag }) => ({ "If-None-Match": etag.slice(1, -1) }), whole],
  ["If-None-Match of a beginning of the tag", ({ etag }) => ({ "If-None-Match": `${etag.slice(0, -2)}"` }), whole],
  ["If-Match of the tag", ({ etag }) => ({ "If-Match": etag }), whole],
  ["If-Match of several", ({ etag }) => ({ "If-Match": `"a",${etag}` }), whole],
  ["If-Match of any", () => ({ "If-Match": "*" }), whole],
  ["If-Match of another", () => ({ "If-Match": '"a"' }), failed],
  ["If-Match of the weak tag, since the comparison is strong", ({ etag }) => ({ "If-Match": `W/${etag}` }), failed],
  // Times (13.1.3, 13.1.4).
  ["If-Modified-Since the last change", ({ modified }) => ({ "If-Modified-Since": modified }), same],
  ["If-Modified-Since a later time", () => ({ "If-Modified-Since": later }), same],
  ["If-Modified-Since an earlier time", () => ({ "If-Modified-Since": earlier }), whole],
  ...["", "now", "0", "2100", "2100-01-01", "Fri, 32 Jan 2100 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 +0100"].map(
    (time) =>
      [
        `If-Modified-Since ${JSON.stringify(time)}, which is no date`,
        () => ({ "If-Modified-Since": time }),
        whole,
      ] as const,
  ),
  ["If-Unmodified-Since the last change", ({ modified }) => ({ "If-Unmodified-Since": modified }), whole],
  ["If-Unmodified-Since an earlier time", () => ({ "If-Unmodified-Since": earlier }), failed],
  ["If-Unmodified-Since no date", () => ({ "If-Unmodified-Since": "yesterday" }), whole],
  // The order of the conditions (13.2.2).
  [
    "a right If-Match before a failing If-Unmodified-Since",
    ({ etag }) => ({ "If-Match": etag, "If-Unmodified-Since": earlier }),
    whole,
  ],
  [
    "a failing If-Match before a right If-None-Match",
    ({ etag }) => ({ "If-Match": '"a"', "If-None-Match": etag }),
    failed,
  ],
  [
    "If-None-Match of another before If-Modified-Since",
    () => ({ "If-None-Match": '"a"', "If-Modified-Since": later }),
    whole,
  ],
  [
    "If-None-Match of the tag before If-Modified-Since",
    ({ etag }) => ({ "If-None-Match": etag, "If-Modified-Since": earlier }),
    same,
  ],
  ["a failing If-Match before a range", () => ({ "If-Match": '"a"', Range: "bytes=0-0" }), failed],
  ["a failing If-Match before a range behind the end", () => ({ "If-Match": '"a"', Range: "bytes=99-" }), failed],
  ["If-None-Match of the tag before a range", ({ etag }) => ({ "If-None-Match": etag, Range: "bytes=0-0" }), same],
  [
    "If-None-Match of the tag before a range behind the end",
    ({ etag }) => ({ "If-None-Match": etag, Range: "bytes=99-" }),
    same,
  ],
  ["a right If-Match and a range", ({ etag }) => ({ "If-Match": etag, Range: "bytes=0-0" }), part("0", 0)],
  // If-Range (13.1.5): only the same file is continued.
  ["If-Range of the tag", ({ etag }) => ({ "If-Range": etag, Range: "bytes=3-" }), part("3456789", 3)],
  ["If-Range of the weak tag", ({ etag }) => ({ "If-Range": `W/${etag}`, Range: "bytes=3-" }), whole],
  ["If-Range of another", () => ({ "If-Range": '"a"', Range: "bytes=3-" }), whole],
  ["If-Range of several", ({ etag }) => ({ "If-Range": `"a", ${etag}`, Range: "bytes=3-" }), whole],
  ["If-Range of any, which there is not", () => ({ "If-Range": "*", Range: "bytes=3-" }), whole],
  ["If-Range of the last change", ({ modified }) => ({ "If-Range": modified, Range: "bytes=3-" }), part("3456789", 3)],
  [
    "If-Range of a later time, since only the same date counts",
    () => ({ "If-Range": later, Range: "bytes=3-" }),
    whole,
  ],
  ["If-Range of an earlier time", () => ({ "If-Range": earlier, Range: "bytes=3-" }), whole],
  ["If-Range of no date", () => ({ "If-Range": "yesterday", Range: "bytes=3-" }), whole],
  ["If-Range of another with a range behind the end", () => ({ "If-Range": '"a"', Range: "bytes=99-" }), whole],
  ["If-Range of the tag with a range behind the end", ({ etag }) => ({ "If-Range": etag, Range: "bytes=99-" }), beyond],
  ["If-Range without a range", ({ etag }) => ({ "If-Range": etag }), whole],
];

describe.each(Object.entries(sources))("%s", (_source, url) => {
  async function known(): Promise<Known> {
    const { headers } = await fetch(url);
    return { etag: headers.get("etag") ?? "", modified: headers.get("last-modified") ?? "" };
  }

  test("has a strong tag, a date and the unit of ranges", async () => {
    const { etag, modified } = await known();
    expect(etag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    expect(new Date(modified).toUTCString()).toBe(modified);
    expect((await fetch(url)).headers.get("accept-ranges")).toBe("bytes");
  });

  test("every row of the table, for GET and for HEAD", async () => {
    const { etag, modified } = await known();
    for (const [name, headersOf, wanted] of table) {
      const headers = headersOf({ etag, modified });
      const answer = await fetch(url, { headers });
      const body = await answer.text();
      const { status } = answer;
      const range = answer.headers.get("content-range");
      const seen = { name, status, ...(range !== null && { range }), ...(status < 400 && { body }) };
      expect(seen).toEqual({ name, ...wanted } as never);
      expect([name, answer.headers.get("content-length")]).toEqual([
        name,
        status === 304 ? null : String(Buffer.byteLength(body)),
      ]);
      // A 304 names the tag, too (15.4.5).
      if (status < 400) expect([name, answer.headers.get("etag")]).toEqual([name, etag]);
      const head = await fetch(url, { method: "HEAD", headers });
      // Ranges are for GET alone (14.2): without the range, the answer is the whole file.
      const { Range: _range, "If-Range": _ifRange, ...others } = headers;
      const withoutRange = await fetch(url, { headers: others });
      await withoutRange.text();
      expect([name, head.status, await head.text()]).toEqual([name, withoutRange.status, ""]);
      expect([name, head.headers.get("content-range")]).toEqual([name, null]);
    }
  });
});

test("random ranges of a larger file are the bytes of the file", async () => {
  const random = randomNumbers(randomSeed("ranges"));
  const place = (): number => Math.floor(random() * (large.length + 2_000));
  for (const url of [`${server.url}/api/storage/${await store(large, "public")}`, `${server.url}/large.bin`])
    for (let round = 0; round < 60; round++) {
      const [first, last] = [place(), place()];
      const form = [`${first}-${last}`, `${first}-`, `-${last}`][round % 3] ?? "";
      const [start, end] = [
        [first, last < first && first < large.length ? Number.NaN : Math.min(last, large.length - 1)],
        [first, large.length - 1],
        [Math.max(0, large.length - last), large.length - 1],
      ][round % 3] as [number, number];
      const answer = await fetch(url, { headers: { Range: `bytes=${form}` } });
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (Number.isNaN(end)) expect([form, answer.status, bytes.equals(large)]).toEqual([form, 200, true]);
      else if (start > end) expect([form, answer.status]).toEqual([form, 416]);
      else {
        expect([form, answer.status, answer.headers.get("content-range")]).toEqual([
          form,
          206,
          `bytes ${start}-${end}/${large.length}`,
        ]);
        expect([form, bytes.equals(large.subarray(start, end + 1))]).toEqual([form, true]);
      }
    }
});
