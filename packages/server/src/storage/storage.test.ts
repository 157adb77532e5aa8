import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileForm, formBytes, formType } from "../../test/forms.ts";
import { png } from "../../test/images.ts";
import { type Answer, eventsSince, lastSeq, openApi } from "../../test/kit.ts";

const api = await openApi({
  collections: [
    {
      name: "posts",
      fields: [
        { name: "title", type: "string" },
        { name: "image", type: "file" },
      ],
    },
  ],
});
const { service, config } = api;
const adminToken = await api.admin();
const owner = await api.register("owner@example.com");
const other = await api.register("other@example.com");
const token = owner.accessToken;

function upload(body: Uint8Array, options: { token?: string; type?: string } = {}): Promise<Answer> {
  const headers = { "Content-Type": options.type ?? formType };
  return api.request("POST", "/api/storage/upload", { body, token: options.token ?? token, headers });
}

async function store(content: string | Uint8Array, filename = "file.bin", visibility = "public"): Promise<string> {
  const { status, body } = await upload(fileForm(content, { filename, visibility }));
  expect(status).toBe(201);
  return String(body["id"]);
}

function get(id: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return api.request(method, `/api/storage/${id}`, { headers });
}

function text({ bytes }: Answer): string {
  return new TextDecoder().decode(bytes);
}

/** Every file below the storage folder. */
function onDisk(): string[] {
  const all = readdirSync(config.storage, { recursive: true, withFileTypes: true });
  return all.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
}

describe("upload", () => {
  test("answers the metadata, and tells it as an event", async () => {
    const seq = await lastSeq(service);
    const { status, body } = await upload(fileForm("hello", { filename: "hello.txt", visibility: "public" }));
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^fil_[0-9a-f-]{36}$/),
      filename: "hello.txt",
      mimeType: "text/plain",
      size: 5,
      visibility: "public",
      userId: owner.user.id,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      url: `/api/storage/${body["id"]}`,
    } as never);
    expect(await eventsSince(service, seq)).toEqual([{ type: "storage.uploaded", payload: body }]);
    expect(onDisk().filter((path) => path.includes(String(body["id"])))).toHaveLength(1);
  });

  test("without a visibility it is protected; an empty file is fine", async () => {
    const { body } = await upload(fileForm(""));
    expect([body["visibility"], body["size"]] as unknown[]).toEqual(["protected", 0]);
  });

  const limit = 10 * 1024 * 1024;
  test("10 MiB, not a byte more", async () => {
    const before = onDisk();
    const seq = await lastSeq(service);
    for (const size of [limit + 1, limit + 100_000, limit * 3]) {
      const answer = await upload(fileForm(Buffer.alloc(size, 7)));
      expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([413, "payload_too_large"]);
    }
    expect(onDisk()).toEqual(before);
    expect(await eventsSince(service, seq)).toEqual([]);
    const { status, body } = await upload(fileForm(Buffer.alloc(limit, 7)));
    expect([status, body["size"]] as unknown[]).toEqual([201, limit]);
  });

  const wrong: [string, Uint8Array | string, object][] = [
    ["no file", formBytes([{ name: "visibility", content: "public" }]), { field: "file", rule: "required" }],
    ["nothing at all", formBytes([]), { field: "file", rule: "required" }],
    ["a browser's empty file", formBytes([{ name: "file", filename: "", content: "" }]), { rule: "required" }],
    ["a text in its place", formBytes([{ name: "file", content: "hello" }]), { field: "file", rule: "type" }],
    [
      "another name",
      formBytes([{ name: "upload", filename: "a", content: "hello" }]),
      { rule: "required", message: 'file is required; the form has a file named "upload"' },
    ],
    [
      "two files",
      formBytes([
        { name: "file", filename: "a", content: "a" },
        { name: "file", filename: "b", content: "b" },
      ]),
      { field: "file", rule: "max" },
    ],
    ["a name of 4 KB", fileForm("x", { filename: "n".repeat(4_096) }), { field: "file", rule: "max" }],
    ["visibility nonsense", fileForm("x", { visibility: "secret" }), { field: "visibility", rule: "type" }],
    ["visibility empty", fileForm("x", { visibility: "" }), { field: "visibility", rule: "type" }],
    [
      "two visibilities",
      formBytes([
        { name: "visibility", content: "public" },
        { name: "visibility", content: "protected" },
        { name: "file", filename: "a", content: "a" },
      ]),
      { field: "visibility", message: 'visibility must be "public" or "protected", not "public" and "protected"' },
    ],
  ];
  test.each(wrong)("%s is 400, and leaves nothing", async (_, form, problem) => {
    const before = onDisk();
    const { status, body } = await upload(form as Uint8Array);
    expect([status, body["error"]?.["code"]] as unknown[]).toEqual([400, "validation_error"]);
    expect(body["error"]?.["details"] as unknown).toEqual([expect.objectContaining(problem)]);
    expect(onDisk()).toEqual(before);
  });

  test("too many parts, and more beside the file than a file may have", async () => {
    const many = Array.from({ length: 60 }, (_, n) => ({ name: `field${n}`, content: "x" }));
    const last = [{ name: "file", filename: "a", content: "a" }];
    const crowded = await upload(formBytes([...many, ...last]));
    expect([crowded.status, crowded.body["error"]?.["message"]] as unknown[]).toEqual([
      400,
      "The form has more than 50 parts.",
    ]);
    const before = onDisk();
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536;
        if (sent > 40 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(65_536));
      },
    });
    const answer = await api.request("POST", "/api/storage/upload", {
      body,
      token,
      headers: { "Content-Type": formType },
    });
    expect(answer.status).toBe(413);
    expect(sent).toBeLessThan(12 * 1024 * 1024);
    expect(onDisk()).toEqual(before);
  });

  test("a visibility that is a file is 400", async () => {
    const parts = [
      { name: "visibility", filename: "blob", content: "public" },
      { name: "file", filename: "a", content: "a" },
    ];
    const { status, body } = await upload(formBytes(parts));
    expect([status, body["error"]?.["details"]] as unknown[]).toEqual([
      400,
      [{ field: "visibility", rule: "type", message: "visibility must be a text, not a file" }],
    ]);
  });

  const whole = fileForm("some content", { visibility: "public" });
  test.each([
    ["cut off in the file", whole.subarray(0, -40), formType],
    ["cut off in the end", whole.subarray(0, -3), formType],
    ["no boundary", whole, "multipart/form-data"],
    ["another boundary", whole, "multipart/form-data; boundary=other"],
    ["JSON", Buffer.from("{}"), "application/json"],
    ["empty", new Uint8Array(), formType],
    ["noise", crypto.getRandomValues(new Uint8Array(5_000)), formType],
    ["no type", whole, ""],
  ])("a body that is %s is 400, and leaves nothing", async (_, body, type) => {
    const before = onDisk();
    const answer = await upload(body, { type });
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
    expect(onDisk()).toEqual(before);
  });

  test("whoever is not signed in is told so before the body is read", async () => {
    const body = new ReadableStream({
      pull() {
        throw new Error("it was read");
      },
    });
    const answer = await api.request("POST", "/api/storage/upload", { body, headers: { "Content-Type": formType } });
    expect(answer.status).toBe(401);
    expect((await upload(whole, { token: "nonsense" })).status).toBe(401);
  });

  test("the form may come in any pieces, its parts in any order", async () => {
    const form = formBytes([
      { name: "file", filename: "a.txt", content: "line\r\n--\r\n----socle\r\n" },
      { name: "comment", content: "ignored" },
      { name: "visibility", content: "public" },
    ]);
    for (const size of [1, 2, 3, 7, 50]) {
      let at = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at >= form.byteLength) return controller.close();
          controller.enqueue(form.slice(at, at + size));
          at += size;
        },
      });
      const { status, body: file } = await api.request("POST", "/api/storage/upload", {
        body,
        token,
        headers: { "Content-Type": formType },
      });
      expect(status).toBe(201);
      expect(text(await get(String(file["id"])))).toBe("line\r\n--\r\n----socle\r\n");
    }
  });

  test.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\\\Users\\\\me\\\\photo.png", "photo.png"],
    ["/", "file"],
    ["..", "file"],
    ["grüße 漢字 🎉.txt", "grüße 漢字 🎉.txt"],
    ["a%22b%22.txt", 'a"b".txt'],
    ["tab\there.txt", "tabhere.txt"],
    ["%00.txt", "%00.txt"],
    [".htaccess", ".htaccess"],
  ])("the name %j is kept as %j", async (given, kept) => {
    const { status, body } = await upload(fileForm("x", { filename: given, visibility: "public" }));
    expect([status, body["filename"]] as unknown[]).toEqual([201, kept]);
    for (const path of onDisk()) expect(path).toMatch(/fil_[0-9a-f-]{36}(\/\d*x\d*)?$/);
  });
});

describe("types", () => {
  const pdf = "%PDF-1.7\n%âãÏÓ\n";
  test.each([
    ["a.png", png(2, 2), "image/png"],
    ["a.txt", png(2, 2), "image/png"],
    ["a.html", png(2, 2), "image/png"],
    ["a", pdf, "application/pdf"],
    ["a.png", "no image at all", "image/png"],
    ["a.html", "<!doctype html><p>hi", "text/html"],
    ["a.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["a.svg", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"],
    ["a.xml", '<?xml version="1.0"?><a/>', "application/xml"],
    ["a.JS", "alert(1)", "text/javascript"],
    [
      "a.docx",
      Buffer.from("504b0506000000000000000000000000000000000000", "hex"),
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ],
    ["a.zip", Buffer.from("504b0506000000000000000000000000000000000000", "hex"), "application/zip"],
    ["a.nonsense", "x", "application/octet-stream"],
    ["none", "x", "application/octet-stream"],
  ])("%s", async (filename, content, type) => {
    const { body } = await upload(fileForm(content, { filename }));
    expect(String(body["mimeType"])).toBe(type);
  });

  const attachment = /^attachment; /;
  const inline = /^inline; /;
  test.each([
    ["a.png", png(2, 2), inline, "image/png"],
    ["a.txt", "x", inline, "text/plain; charset=utf-8"],
    ["a.pdf", pdf, inline, "application/pdf"],
    ["a.html", "<script>", attachment, "text/html; charset=utf-8"],
    ["a.xhtml", "<html/>", attachment, "application/xhtml+xml"],
    ["a.svg", "<svg/>", attachment, "image/svg+xml"],
    ["a.xml", "<a/>", attachment, "application/xml"],
    ["a.mjs", "1", attachment, "text/javascript; charset=utf-8"],
    ["a.unknown", "x", attachment, "application/octet-stream"],
  ])("%s: a browser runs nothing of it", async (filename, content, disposition, type) => {
    const { headers } = await get(await store(content, filename));
    expect(headers.get("content-disposition")).toMatch(disposition);
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*; sandbox$/);
  });

  test("the name goes along in any script, and breaks out of no header", async () => {
    const { headers } = await get(await store("x", "grü%22ße'(1)*\\\\.txt; x=y"));
    expect(headers.get("content-disposition")).toBe(
      `attachment; filename=".txt; x=y"; filename*=UTF-8''.txt%3B%20x%3Dy`,
    );
    const plain = await get(await store("x", "grüße '1'*.txt"));
    expect(plain.headers.get("content-disposition")).toBe(
      `inline; filename="gr__e '1'*.txt"; filename*=UTF-8''gr%C3%BC%C3%9Fe%20%271%27%2A.txt`,
    );
  });
});

describe("access", () => {
  test("who may download and delete", async () => {
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
          return (await api.request(method, `/api/storage/${id}`, given === undefined ? {} : { token: given })).status;
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

  test("a file that is deleted between the look and the read is not found", async () => {
    const id = await store(png(50, 50), "a.png");
    const file = await service.storage.find(id);
    if (file === null) throw new Error("It is not there");
    await api.request("DELETE", `/api/storage/${id}`, { token });
    await expect(service.storage.read(file, null)).rejects.toMatchObject({ code: "not_found" });
    await expect(service.storage.thumbnail(file, { width: 5, height: 5 })).rejects.toMatchObject({ code: "not_found" });
  });

  test.each(["..%2f..%2fsocle.db", "%2e%2e", "%00", "fil_%2f..", "upload/x", "'%20OR%201=1"])(
    "the id %s names nothing",
    async (id) => {
      expect((await api.request("GET", `/api/storage/${id}`, { token: adminToken })).status).toBe(404);
      expect((await api.request("DELETE", `/api/storage/${id}`, { token: adminToken })).status).toBe(404);
    },
  );

  test("methods", async () => {
    const id = await store("x");
    expect((await get("upload")).status).toBe(405);
    expect((await get(id, {}, "PUT")).headers.get("allow")).toBe("GET, HEAD, DELETE, OPTIONS");
    expect((await api.request("GET", "/api/storage")).status).toBe(404);
  });
});

describe("conditions and ranges", () => {
  const content = "0123456789";
  let id = "";
  let etag = "";
  let modified = "";
  test("an answer says what it can be asked about", async () => {
    id = await store(content, "digits.txt");
    const { headers, status } = await get(id);
    etag = headers.get("etag") ?? "";
    modified = headers.get("last-modified") ?? "";
    expect([status, headers.get("content-length"), headers.get("accept-ranges")]).toEqual([200, "10", "bytes"]);
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(headers.get("cache-control")).toBe("public, max-age=3600");
    const closed = await store(content, "digits.txt", "protected");
    const answer = await api.request("GET", `/api/storage/${closed}`, { token });
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
  test.each(pictures)("of a %s: within the box, in its shape, never larger", async (format, make) => {
    const id = await store(await make(), `picture.${format}`);
    const sizes: Record<string, string> = {
      "200x200": "200x150",
      "200x": "200x150",
      x200: "267x200",
      "40x200": "40x30",
      "2000x2000": "400x300",
    };
    for (const [asked, given] of Object.entries(sizes)) {
      const answer = await api.request("GET", `/api/storage/${id}?thumb=${asked}`);
      expect([answer.status, await sizeOf(answer)]).toEqual([200, `${format} ${given}`]);
      expect(answer.headers.get("content-type")).toBe(`image/${format}`);
      const etag = answer.headers.get("etag") ?? "";
      expect(etag).not.toBe((await get(id)).headers.get("etag"));
      const again = await api.request("GET", `/api/storage/${id}?thumb=${asked}`, {
        headers: { "If-None-Match": etag },
      });
      expect(again.status).toBe(304);
    }
    const folder = join(config.storage, ".work", "thumbnails", id);
    expect(readdirSync(folder).sort()).toEqual(Object.keys(sizes).sort());
    await api.request("DELETE", `/api/storage/${id}`, { token });
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
    const answer = await api.request("GET", `/api/storage/${id}?thumb=${encodeURIComponent(asked)}`);
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
  });

  test.each([
    ["a text", "hello", "a.txt", /PNG, JPEG and WebP images only, not of text\/plain/],
    ["an SVG", "<svg/>", "a.svg", /not of image\/svg\+xml/],
    ["what only says that it is one", "hello", "a.png", /damaged/],
    ["half of one", source.subarray(0, 200), "a.png", /damaged/],
    ["an empty one", "", "a.png", /damaged/],
    ["a bomb", png(1, 1, { width: 60_000, height: 60_000 }), "a.png", /more than 32000000 pixels/],
  ])("of %s there are none", async (_, content, filename, message) => {
    const id = await store(content, filename);
    const answer = await api.request("GET", `/api/storage/${id}?thumb=10x10`);
    expect([answer.status, answer.body["error"]?.["code"]] as unknown[]).toEqual([400, "bad_request"]);
    expect(String(answer.body["error"]?.["message"])).toMatch(message);
  });

  test("who may not have the image may not have its thumbnail", async () => {
    const id = await store(source, "a.png", "protected");
    const path = `/api/storage/${id}?thumb=10x10`;
    expect((await api.request("GET", path)).status).toBe(401);
    expect((await api.request("GET", path, { token })).status).toBe(200);
    expect((await api.request("GET", path)).status).toBe(401);
    expect((await api.request("GET", path, { token: other.accessToken })).status).toBe(403);
  });

  test("fifty at once are made once", async () => {
    const id = await store(png(800, 800), "a.png");
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => api.request("GET", `/api/storage/${id}?thumb=90x90`)),
    );
    expect(new Set(await Promise.all(answers.map(sizeOf)))).toEqual(new Set(["png 90x90"]));
  });
});

describe("file fields", () => {
  test("hold a file that is there, and keep it when it is gone", async () => {
    const image = await store(png(2, 2), "a.png");
    const created = await api.request("POST", "/api/posts", { body: { title: "a", image } });
    expect([created.status, created.body["image"]] as unknown[]).toEqual([201, image]);
    const wrong = await api.request("POST", "/api/posts", { body: { title: "a", image: "fil_nothing" } });
    expect(wrong.status).toBe(400);
    expect(wrong.body["error"]?.["details"] as unknown).toEqual([
      expect.objectContaining({ field: "image", rule: "file" }),
    ]);
    await api.request("DELETE", `/api/storage/${image}`, { token });
    const path = `/api/posts/${created.body["id"]}`;
    expect(String((await api.request("GET", path)).body["image"])).toBe(image);
    const again = await api.request("PUT", path, { body: { title: "b", image } });
    expect(again.status).toBe(200);
    const other = await api.request("PUT", path, { body: { image: "fil_other" } });
    expect(other.status).toBe(400);
  });
});
