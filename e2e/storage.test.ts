/** Files in the executable: on the wire, on the disk, across crashes, in a bucket. */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { StoredFile } from "@socle/protocol";
import { fileForm, formType } from "../packages/server/test/forms.ts";
import { bucket, s3Key, startS3 } from "../packages/server/test/s3-server.ts";
import { inParallel, post, project, type Running, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";

async function register(url: string, email = "me@example.com"): Promise<string> {
  const response = await post(`${url}/api/auth/register`, { email, password: "long enough" });
  return ((await response.json()) as { token: string }).token;
}

function upload(url: string, token: string, body: Uint8Array | ReadableStream<Uint8Array>): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": formType };
  return fetch(`${url}/api/storage/upload`, { method: "POST", headers, body });
}

async function store(url: string, token: string, content: string | Uint8Array): Promise<StoredFile> {
  const response = await upload(url, token, fileForm(content, { visibility: "public" }));
  expect(response.status).toBe(201);
  return (await response.json()) as StoredFile;
}

/** Every file below a folder. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const all = readdirSync(folder, { recursive: true, withFileTypes: true });
  return all.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
}

/** Sends raw bytes and keeps the connection open. */
async function raw(server: Running, text: string | Uint8Array): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.write(text, resolve));
  return { socket, received: () => received };
}

function uploadHead(token: string, length: string): string {
  return `POST /api/storage/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${formType}\r\n${length}\r\n\r\n`;
}

const mebibyte = 1024 * 1024;

describe("on the wire", () => {
  test("uploads are downloaded, whole and in parts, by many at once", async () => {
    singleService("lengths");
    const cwd = await project();
    const { url } = await serve(cwd);
    const token = await register(url);
    const content = crypto.getRandomValues(new Uint8Array(65_536));
    const repeated = (times: number) => new Uint8Array(Buffer.concat(Array.from({ length: times }, () => content)));
    // The largest file that is allowed, and many smaller files.
    const [largest, others] = [repeated(160), repeated(32)];
    expect(largest.byteLength).toBe(10 * mebibyte);
    await inParallel([largest, ...Array.from({ length: 19 }, () => others)], 20, async (large) => {
      const file = await store(url, token, large);
      const whole = await fetch(url + file.url);
      expect(whole.headers.get("content-length")).toBe(String(large.byteLength));
      expect(Bun.SHA256.hash(await whole.bytes(), "hex")).toBe(Bun.SHA256.hash(large, "hex"));
      const part = await fetch(url + file.url, { headers: { Range: "bytes=1000000-1065535" } });
      expect(part.status).toBe(206);
      expect(await part.bytes()).toEqual(large.slice(1_000_000, 1_065_536));
      const head = await fetch(url + file.url, { method: "HEAD" });
      expect([head.status, head.headers.get("content-length"), (await head.bytes()).length]).toEqual([
        200,
        String(large.byteLength),
        0,
      ]);
      const nonsense = await fetch(url + file.url, { headers: { Range: "bytes=5-2" } });
      expect([nonsense.status, (await nonsense.bytes()).length]).toEqual([200, large.byteLength]);
    });
  });

  test("a file that is too large is 413 to a client that sends on, and leaves nothing", async () => {
    const cwd = await project();
    const { url } = await serve(cwd);
    const token = await register(url);
    for (const size of [10 * mebibyte + 1, 11 * mebibyte, 60 * mebibyte]) {
      const response = await upload(url, token, fileForm(Buffer.alloc(size)));
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ error: { code: "payload_too_large" } });
    }
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const head = fileForm("").subarray(0, -22);
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(head);
        for await (const chunk of endless) {
          try {
            controller.enqueue(chunk);
            await Bun.sleep(0);
          } catch {
            return;
          }
        }
      },
    });
    expect((await upload(url, token, body)).status).toBe(413);
    expect(filesIn(join(cwd, "storage"))).toEqual([]);
  });

  test("a length that lies and a connection that breaks leave nothing, and the service goes on", async () => {
    singleService("files");
    const cwd = await project();
    const server = await serve(cwd);
    const token = await register(server.url);
    const form = fileForm("x".repeat(100_000));
    const short = await raw(server, uploadHead(token, "Content-Length: 5000"));
    short.socket.write(form.subarray(0, 5_000));
    await until(() => short.received().includes("\r\n\r\n"));
    expect(short.received()).toStartWith("HTTP/1.1 400");
    const long = await raw(server, uploadHead(token, "Content-Length: 900000"));
    long.socket.write(form);
    const broken = await raw(server, uploadHead(token, "Content-Length: 900000"));
    broken.socket.write(form.subarray(0, 50_000));
    const uploads = join(cwd, "storage/.work/uploads");
    await until(() => readdirSync(uploads).length === 2);
    for (const { socket } of [short, long, broken]) socket.destroy();
    await until(() => readdirSync(uploads).length === 0);
    expect(filesIn(join(cwd, "storage"))).toEqual([]);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(server.output()).not.toContain("ERROR");
  });
});

describe("on the disk", () => {
  test("a folder without the right to write stops the start with a single line", async () => {
    const cwd = await project({ config: { storage: "./taken/storage" } });
    await Bun.write(join(cwd, "taken"), "a file");
    const { code, stderr } = await socle([], { cwd });
    expect(code).toBe(2);
    expect(stderr.trim().split("\n").at(-1)).toMatch(/storage .*taken\/storage: cannot be written: /);
  });

  test("kill -9 during uploads: whole files are stored, and no bytes of the others are left after a start", async () => {
    const cwd = await project();
    let server = await serve(cwd);
    const token = await register(server.url);
    const stored = new Map<string, string>();
    for (let round = 0; round < 5; round++) {
      const { url } = server;
      // One upload that never ends, and many that end.
      const stuck = await raw(server, uploadHead(token, "Content-Length: 900000"));
      stuck.socket.write(fileForm("y".repeat(200_000)).subarray(0, 150_000));
      const pending = inParallel(Array.from({ length: 60 }), 8, async () => {
        const content = crypto.getRandomValues(new Uint8Array(50_000));
        const response = await upload(url, token, fileForm(content, { visibility: "public" })).catch(() => null);
        if (response?.status !== 201) return;
        const body = (await response.json().catch(() => null)) as StoredFile | null;
        if (body !== null) stored.set(body.id, Bun.SHA256.hash(content, "hex"));
      });
      // A different moment in each round, however fast the machine is.
      const enough = stored.size + 3 + 2 * round;
      await until(() => stored.size >= enough);
      server.signal("SIGKILL");
      await Promise.all([pending, server.exited]);
      stuck.socket.destroy();
      server = await serve(cwd);
    }
    expect(stored.size).toBeGreaterThan(20);
    for (const [id, hash] of stored) {
      const response = await fetch(`${server.url}/api/storage/${id}`);
      expect([response.status, Bun.SHA256.hash(await response.bytes(), "hex")]).toEqual([200, hash]);
    }
    // Every file on the disk is a file of the service, also a stored file with a lost answer.
    for (const path of filesIn(join(cwd, "storage"))) {
      const id = path.split("/").at(-1) ?? "";
      expect((await fetch(`${server.url}/api/storage/${id}`)).status).toBe(200);
    }
    await server.stop();
  });

  test("remains of a crash between two steps are removed at the next start", async () => {
    singleService("files");
    const cwd = await project();
    const first = await serve(cwd);
    const token = await register(first.url);
    const file = await store(first.url, token, "kept");
    await first.stop();
    const { Database } = await import("bun:sqlite");
    const orphan = "fil_0190a5f4-0000-7000-8000-0000000000aa";
    const folder = join(cwd, "storage", "aa");
    mkdirSync(folder, { recursive: true });
    await Bun.write(join(folder, orphan), "bytes without metadata");
    await Bun.write(join(cwd, "storage/.work/uploads", orphan), "half of it");
    using database = new Database(join(cwd, "socle.db"));
    database.run("INSERT INTO _file_remains (id) VALUES (?)", [orphan]);
    database.close();
    const second = await serve(cwd);
    const names = filesIn(join(cwd, "storage")).map((path) => path.split("/").at(-1));
    expect(names).toEqual([file.id]);
    expect(await (await fetch(second.url + file.url)).text()).toBe("kept");
    await second.stop();
  });

  test("bytes that were removed from outside are an error of the service, not of the caller", async () => {
    singleService("files");
    const cwd = await project();
    const server = await serve(cwd);
    const file = await store(server.url, await register(server.url), "gone");
    const [path = ""] = filesIn(join(cwd, "storage"));
    await Bun.file(path).delete();
    const response = await fetch(server.url + file.url);
    expect(response.status).toBe(500);
    // The log is written after the answer.
    while (!server.output().includes(`The bytes of the file ${file.id} are missing`)) await Bun.sleep(5);
  });
});

describe("in a bucket", () => {
  test("uploads, downloads, parts, thumbnails and deletions, and nothing on the disk", async () => {
    const s3 = await startS3();
    const env = { SERVICE_S3_ENDPOINT: s3.endpoint, SERVICE_S3_SECRET_ACCESS_KEY: s3Key };
    const config = { storage: `s3://${bucket}/files`, s3: { accessKeyId: s3Key, region: "us-east-1" } };
    const cwd = await project({ config });
    const server = await serve(cwd, { env });
    const { url } = server;
    const token = await register(url);
    const content = crypto.getRandomValues(new Uint8Array(60_000));
    const file = await store(url, token, content);
    expect(await (await fetch(url + file.url)).bytes()).toEqual(content);
    const part = await fetch(url + file.url, { headers: { Range: "bytes=0-0" } });
    expect([part.status, part.headers.get("content-length")]).toEqual([206, "1"]);
    expect(await part.bytes()).toEqual(content.slice(0, 1));
    const head = await fetch(url + file.url, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe("60000");
    const { png } = await import("../packages/server/test/images.ts");
    const image = await store(url, token, png(100, 100));
    const thumb = await fetch(`${url}${image.url}?thumb=32x32`);
    expect((await new Bun.Image(await thumb.bytes()).metadata()).width).toBe(32);
    expect(filesIn(join(cwd, "socle.db-files/uploads"))).toEqual([]);
    expect(existsSync(join(cwd, "storage"))).toBe(false);

    const client = new Bun.S3Client({ endpoint: s3.endpoint, accessKeyId: s3Key, secretAccessKey: s3Key, bucket });
    expect(await client.exists(`files/${file.id}`)).toBe(true);
    const headers = { Authorization: `Bearer ${token}` };
    expect((await fetch(url + file.url, { method: "DELETE", headers })).status).toBe(204);
    expect(await client.exists(`files/${file.id}`)).toBe(false);

    // The store goes away: requests that need the store get 503 with a reason, all others work.
    await s3.stop();
    expect((await fetch(url + image.url)).status).toBe(503);
    const failed = await upload(url, token, fileForm("x"));
    expect([failed.status, await failed.json()]).toEqual([
      503,
      { error: { code: "unavailable", message: "Files cannot be stored or read at the moment." } },
    ]);
    expect((await fetch(`${url}/api/auth/me`, { headers })).status).toBe(200);
    expect(filesIn(join(cwd, "socle.db-files/uploads"))).toEqual([]);
    await server.stop();
    expect(readFileSync(join(cwd, "socle.db")).includes(Buffer.from(s3Key))).toBe(false);
  });

  test("a store that is silent delays no start, however many removals wait", async () => {
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const env = {
      SERVICE_S3_ENDPOINT: `http://127.0.0.1:${silent.port}`,
      SERVICE_S3_ACCESS_KEY_ID: s3Key,
      SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
    };
    const cwd = await project();
    await (await serve(cwd)).stop();
    const { Database } = await import("bun:sqlite");
    using database = new Database(join(cwd, "socle.db"));
    database.run("INSERT INTO _file_remains (id) VALUES ('fil_a'), ('fil_b')");
    database.close();
    const server = await serve(cwd, { env: { ...env, SERVICE_STORAGE: `s3://${bucket}` } });
    expect(server.output()).toContain("does not respond; uploads and downloads fail meanwhile");
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  test("a missing bucket stops the start with a single line", async () => {
    const s3 = await startS3();
    const env = {
      SERVICE_S3_ENDPOINT: s3.endpoint,
      SERVICE_S3_ACCESS_KEY_ID: s3Key,
      SERVICE_S3_SECRET_ACCESS_KEY: s3Key,
    };
    const { code, stderr } = await socle([], {
      cwd: temporaryFolder(),
      env: { ...env, SERVICE_STORAGE: "s3://nowhere" },
    });
    expect(code).toBe(2);
    expect(stderr.trim().split("\n").at(-1)).toMatch(/storage s3:\/\/nowhere: cannot be written: .*NoSuchBucket/);
  });
});
