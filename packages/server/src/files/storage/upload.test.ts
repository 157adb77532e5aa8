import { describe, expect, test } from "bun:test";
import { openFiles } from "../../../test/files.ts";
import { fileForm, formBytes, formType } from "../../../test/forms.ts";
import { png } from "../../../test/images.ts";
import { eventsSince, lastSeq } from "../../../test/kit.ts";

const { get, onDisk, owner, request, service, store, text, token, upload } = await openFiles();

describe("upload", () => {
  test("responds with the metadata, and publishes an event", async () => {
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

  test("without a visibility the file is protected; an empty file is fine", async () => {
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
      { field: "visibility", message: 'visibility must be public, record or protected, not "public" and "protected"' },
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
    const answer = await request("POST", "/api/storage/upload", {
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

  test("an anonymous caller is refused before the body is read", async () => {
    const body = new ReadableStream({
      pull() {
        throw new Error("it was read");
      },
    });
    const answer = await request("POST", "/api/storage/upload", { body, headers: { "Content-Type": formType } });
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
      const { status, body: file } = await request("POST", "/api/storage/upload", {
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
  ])("the name %j is stored as %j", async (given, kept) => {
    const { status, body } = await upload(fileForm("x", { filename: given, visibility: "public" }));
    expect([status, body["filename"]] as unknown[]).toEqual([201, kept]);
    for (const path of onDisk()) expect(path).toMatch(/fil_[0-9a-f-]{36}(\/\d*x\d*)?$/);
  });
});

describe("types", () => {
  const pdf = Buffer.from("%PDF-1.7\n%âãÏÓ\n", "latin1");
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
    ["a.mjs", "1", attachment, "application/octet-stream"],
    ["evil.js", "alert(1)", attachment, "application/octet-stream"],
    ["a.unknown", "x", attachment, "application/octet-stream"],
  ])("%s: a browser runs nothing of the file", async (filename, content, disposition, type) => {
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

describe("file fields", () => {
  test("have an existing file, and keep the id after the deletion", async () => {
    const image = await store(png(2, 2), "a.png");
    const created = await request("POST", "/api/posts", { body: { title: "a", image } });
    expect([created.status, created.body["image"]] as unknown[]).toEqual([201, image]);
    const wrong = await request("POST", "/api/posts", { body: { title: "a", image: "fil_nothing" } });
    expect(wrong.status).toBe(400);
    expect(wrong.body["error"]?.["details"] as unknown).toEqual([
      expect.objectContaining({ field: "image", rule: "file" }),
    ]);
    await request("DELETE", `/api/storage/${image}`, { token });
    const path = `/api/posts/${created.body["id"]}`;
    expect(String((await request("GET", path)).body["image"])).toBe(image);
    const again = await request("PUT", path, { body: { title: "b", image } });
    expect(again.status).toBe(200);
    const other = await request("PUT", path, { body: { image: "fil_other" } });
    expect(other.status).toBe(400);
  });
});
