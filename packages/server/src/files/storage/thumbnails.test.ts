import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openFiles } from "../../../test/files.ts";
import { png } from "../../../test/images.ts";
import type { Answer } from "../../../test/kit.ts";

const { config, get, other, request, store, token } = await openFiles();

describe("thumbnails", () => {
  async function sizeOf({ bytes }: Answer): Promise<string> {
    const { width, height, format } = await new Bun.Image(bytes).metadata();
    return `${format} ${width}x${height}`;
  }
  const source = png(400, 300);
  const pictures: [string, () => Promise<Uint8Array>][] = [
    ["png", async () => source],
    ["jpeg", () => new Bun.Image(source).jpeg().bytes()],
    ["webp", () => new Bun.Image(source).webp().bytes()],
  ];
  test.each(pictures)("a %s has a thumbnail within the box, in its shape, never larger", async (format, make) => {
    const id = await store(await make(), `picture.${format}`);
    const sizes: Record<string, string> = {
      "200x200": "200x150",
      "200x": "200x150",
      x200: "267x200",
      "48x200": "48x36",
      "2000x2000": "400x300",
    };
    for (const [asked, given] of Object.entries(sizes)) {
      const answer = await request("GET", `/api/storage/${id}?thumb=${asked}`);
      expect([answer.status, await sizeOf(answer)]).toEqual([200, `${format} ${given}`]);
      expect(answer.headers.get("content-type")).toBe(`image/${format}`);
      const etag = answer.headers.get("etag") ?? "";
      expect(etag).not.toBe((await get(id)).headers.get("etag"));
      const again = await request("GET", `/api/storage/${id}?thumb=${asked}`, {
        headers: { "If-None-Match": etag },
      });
      expect(again.status).toBe(304);
    }
    const folder = join(config.storage, ".work", "thumbnails", id);
    expect(readdirSync(folder).sort()).toEqual(Object.keys(sizes).sort());
    await request("DELETE", `/api/storage/${id}`, { token });
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    "",
    "x",
    "0x0",
    "0x",
    "2001x",
    "x2001",
    "200",
    "-5x5",
    "1e3x",
    "5x5x5",
    "axb",
    "99999x1",
    "5.5x5",
    " 5x5",
  ])("%j is no size", async (asked) => {
    const id = await store(source, "a.png");
    const answer = await request("GET", `/api/storage/${id}?thumb=${encodeURIComponent(asked)}`);
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
  });

  test.each([
    ["a text", "hello", "a.txt", /PNG, JPEG and WebP images only, not of text\/plain/],
    ["an SVG", "<svg/>", "a.svg", /not of image\/svg\+xml/],
    ["what only says that it is one", "hello", "a.png", /damaged/],
    ["half of one", source.subarray(0, 200), "a.png", /damaged/],
    ["an empty one", "", "a.png", /damaged/],
    ["a bomb", png(1, 1, { width: 60_000, height: 60_000 }), "a.png", /more than 32000000 pixels/],
  ])("%s has no thumbnail", async (_, content, filename, message) => {
    const id = await store(content, filename);
    const answer = await request("GET", `/api/storage/${id}?thumb=10x10`);
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
    expect(String(answer.body["error"]?.["message"])).toMatch(message);
  });

  test("a caller without the right to the image gets no thumbnail", async () => {
    const id = await store(source, "a.png", "protected");
    const path = `/api/storage/${id}?thumb=10x10`;
    expect((await request("GET", path)).status).toBe(401);
    expect((await request("GET", path, { token })).status).toBe(200);
    expect((await request("GET", path)).status).toBe(401);
    expect((await request("GET", path, { token: other.accessToken })).status).toBe(403);
  });

  test("fifty requests at once make a thumbnail once", async () => {
    const id = await store(png(800, 800), "a.png");
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => request("GET", `/api/storage/${id}?thumb=96x96`)),
    );
    expect(new Set(await Promise.all(answers.map(sizeOf)))).toEqual(new Set(["png 96x96"]));
  });
});
