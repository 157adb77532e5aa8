import { describe, expect, test } from "bun:test";
import { openFiles } from "../../../test/files.ts";
import { png } from "../../../test/images.ts";
import { eventsSince, lastSeq } from "../../../test/kit.ts";

const { adminToken, get, onDisk, other, owner, request, service, store, text, token } = await openFiles();

describe("access", () => {
  test("rights to download and delete", async () => {
    const open = await store("open", "a.txt", "public");
    const closed = await store("closed", "a.txt", "protected");
    const tokens = {
      nobody: undefined,
      owner: token,
      other: other.accessToken,
      admin: adminToken,
      invalid: "nonsense",
    };
    const statuses = async (method: string, id: string, names: string[]): Promise<number[]> =>
      Promise.all(
        names.map(async (name) => {
          const given = tokens[name as keyof typeof tokens];
          return (await request(method, `/api/storage/${id}`, given === undefined ? {} : { token: given })).status;
        }),
      );
    const all = Object.keys(tokens);
    expect(await statuses("GET", open, all)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses("GET", closed, all)).toEqual([401, 200, 403, 200, 401]);
    expect(await statuses("GET", "fil_nothing", all)).toEqual([404, 404, 404, 404, 401]);
    expect(await statuses("DELETE", "fil_nothing", all)).toEqual([401, 404, 404, 404, 401]);
    for (const id of [open, closed]) {
      expect(await statuses("DELETE", id, ["nobody", "invalid", "other"])).toEqual([401, 401, 403]);
      expect(await statuses("GET", id, ["owner"])).toEqual([200]);
    }
    const seq = await lastSeq(service);
    expect(await statuses("DELETE", open, ["owner"])).toEqual([204]);
    expect(await statuses("DELETE", closed, ["admin"])).toEqual([204]);
    expect(await statuses("GET", open, ["admin"])).toEqual([404]);
    expect(await statuses("DELETE", open, ["admin"])).toEqual([404]);
    expect(await eventsSince(service, seq)).toEqual(
      [open, closed].map((id) => ({ type: "storage.deleted", payload: { id, userId: owner.user.id } })),
    );
    expect(onDisk().filter((path) => path.includes(open) || path.includes(closed))).toEqual([]);
    const remains = await service.database.reader.all("SELECT id FROM _file_remains");
    expect(remains).toEqual([]);
  });

  test("a file that is deleted between the check and the read is not found", async () => {
    const id = await store(png(50, 50), "a.png");
    const file = await service.storage.find(id);
    if (file === null) throw new Error("It is not there");
    await request("DELETE", `/api/storage/${id}`, { token });
    await expect(service.storage.read(file, null)).rejects.toMatchObject({ code: "not_found" });
    const asker = { caller: "me", signal: new AbortController().signal };
    await expect(service.storage.thumbnail(file, { width: 16, height: 16 }, asker)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test.each(["..%2f..%2fsocle.db", "%2e%2e", "%00", "fil_%2f..", "upload/x", "'%20OR%201=1"])(
    "the id %s names nothing",
    async (id) => {
      expect((await request("GET", `/api/storage/${id}`, { token: adminToken })).status).toBe(404);
      expect((await request("DELETE", `/api/storage/${id}`, { token: adminToken })).status).toBe(404);
    },
  );

  test("methods", async () => {
    const id = await store("x");
    expect((await get("upload")).status).toBe(405);
    expect((await get(id, {}, "PUT")).headers.get("allow")).toBe("GET, HEAD, DELETE, OPTIONS");
    expect((await request("GET", "/api/storage")).status).toBe(404);
  });
});

describe("conditions and ranges", () => {
  const content = "0123456789";
  let id = "";
  let etag = "";
  let modified = "";
  test("a response names its conditions and ranges", async () => {
    id = await store(content, "digits.txt");
    const { headers, status } = await get(id);
    etag = headers.get("etag") ?? "";
    modified = headers.get("last-modified") ?? "";
    expect([status, headers.get("content-length"), headers.get("accept-ranges")]).toEqual([200, "10", "bytes"]);
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(headers.get("cache-control")).toBe("public, no-cache");
    const closed = await store(content, "digits.txt", "protected");
    const answer = await request("GET", `/api/storage/${closed}`, { token });
    expect(answer.headers.get("cache-control")).toBe("private, no-cache");
  });

  const later = "Fri, 01 Jan 2100 00:00:00 GMT";
  const earlier = "Sat, 01 Jan 2000 00:00:00 GMT";
  const cases: [string, () => Record<string, string>, number, string | null, string?][] = [
    ["nothing", () => ({}), 200, content],
    ["the first byte", () => ({ Range: "bytes=0-0" }), 206, "0", "bytes 0-0/10"],
    ["the middle", () => ({ Range: "bytes=2-4" }), 206, "234", "bytes 2-4/10"],
    ["an open end", () => ({ Range: "bytes=7-" }), 206, "789", "bytes 7-9/10"],
    ["the last ones", () => ({ Range: "bytes=-3" }), 206, "789", "bytes 7-9/10"],
    ["more than there is", () => ({ Range: "bytes=5-999" }), 206, "56789", "bytes 5-9/10"],
    ["more last ones than there are", () => ({ Range: "bytes=-999" }), 206, content, "bytes 0-9/10"],
    ["the whole", () => ({ Range: "bytes=0-9" }), 206, content, "bytes 0-9/10"],
    ["beyond the end", () => ({ Range: "bytes=10-" }), 416, null, "bytes */10"],
    ["far beyond", () => ({ Range: "bytes=99999999999999999999-" }), 416, null, "bytes */10"],
    ["none of the last", () => ({ Range: "bytes=-0" }), 416, null, "bytes */10"],
    ["backwards", () => ({ Range: "bytes=5-2" }), 200, content],
    ["nonsense", () => ({ Range: "bytes=a-b" }), 200, content],
    ["another unit", () => ({ Range: "lines=1-2" }), 200, content],
    ["negative", () => ({ Range: "bytes=--5" }), 200, content],
    ["several", () => ({ Range: "bytes=0-1,4-5" }), 200, content],
    ["the same tag", () => ({ "If-None-Match": etag }), 304, ""],
    ["among others, and weak", () => ({ "If-None-Match": `"x", W/${etag}` }), 304, ""],
    ["any", () => ({ "If-None-Match": "*" }), 304, ""],
    ["another tag", () => ({ "If-None-Match": '"x"' }), 200, content],
    [
      "another tag, which outweighs the time",
      () => ({ "If-None-Match": '"x"', "If-Modified-Since": later }),
      200,
      content,
    ],
    ["not modified since", () => ({ "If-Modified-Since": modified }), 304, ""],
    ["modified since", () => ({ "If-Modified-Since": earlier }), 200, content],
    ["since nonsense", () => ({ "If-Modified-Since": "yesterday" }), 200, content],
    ["since a year", () => ({ "If-Modified-Since": "2100" }), 200, content],
    ["since a date of another form", () => ({ "If-Modified-Since": "2100-01-01T00:00:00Z" }), 200, content],
    ["since a date of RFC 850", () => ({ "If-Modified-Since": "Sunday, 06-Nov-49 08:49:37 GMT" }), 304, ""],
    ["since a date of asctime", () => ({ "If-Modified-Since": "Sun Nov  6 08:49:37 2094" }), 304, ""],
    ["if it matches", () => ({ "If-Match": etag }), 200, content],
    ["if it matches another", () => ({ "If-Match": '"x"' }), 412, null],
    ["unless modified", () => ({ "If-Unmodified-Since": earlier }), 412, null],
    ["a range of the same", () => ({ Range: "bytes=0-0", "If-Range": etag }), 206, "0", "bytes 0-0/10"],
    ["a range of the same time", () => ({ Range: "bytes=0-0", "If-Range": modified }), 206, "0", "bytes 0-0/10"],
    ["a range of another", () => ({ Range: "bytes=0-0", "If-Range": '"x"' }), 200, content],
    ["a range of the same, weak", () => ({ Range: "bytes=0-0", "If-Range": `W/${etag}` }), 200, content],
    ["a range of what it has", () => ({ Range: "bytes=0-0", "If-None-Match": etag }), 304, ""],
  ];
  const filled = cases.map(
    ([name, headers, status, body, range = null]) => [name, headers, status, body, range] as const,
  );
  test.each(filled)("%s", async (_, headers, status, body, range) => {
    const answer = await get(id, headers());
    expect(answer.status).toBe(status);
    if (body === null) expect(answer.body["error"]?.["code"] as unknown).toBe("bad_request");
    else expect(text(answer)).toBe(body);
    expect(answer.headers.get("content-range")).toBe(range);
    if (status === 304) expect(answer.headers.get("etag")).toBe(etag);
    if (status === 206) expect(answer.headers.get("content-length")).toBe(String(body?.length));
  });

  test("HEAD is GET without the body, and knows no ranges", async () => {
    const answer = await get(id, { Range: "bytes=0-0" }, "HEAD");
    expect([answer.status, text(answer), answer.headers.get("content-length")]).toEqual([200, "", "10"]);
    expect((await get(id, { "If-None-Match": etag }, "HEAD")).status).toBe(304);
  });

  test("an empty file has no ranges", async () => {
    const empty = await store("");
    expect((await get(empty, { Range: "bytes=0-" })).status).toBe(416);
    const { status, headers } = await get(empty);
    expect([status, headers.get("content-length")]).toEqual([200, "0"]);
  });
});
