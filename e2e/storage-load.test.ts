/** Files under many callers at once: clients that disconnect, that send slowly, that ask for more than can be made. */
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { StoredFile } from "@socle/protocol";
import { fileForm, formType } from "../packages/server/test/forms.ts";
import { png } from "../packages/server/test/images.ts";
import { bucket, s3Key, startS3 } from "../packages/server/test/s3-server.ts";
import { post, project, type Running, serve, singleService, until } from "./kit.ts";

async function open(config: object = {}, env: Record<string, string> = {}): Promise<{ cwd: string; server: Running }> {
  const cwd = await project({ config });
  return { cwd, server: await serve(cwd, { env }) };
}

async function register({ url }: Running, email: string): Promise<string> {
  const response = await post(`${url}/api/auth/register`, { email, password: "long enough" });
  return ((await response.json()) as { token: string }).token;
}

async function store({ url }: Running, token: string, content: Uint8Array): Promise<StoredFile> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": formType };
  const body = fileForm(content, { filename: "a.png", visibility: "public" });
  const response = await fetch(`${url}/api/storage/upload`, { method: "POST", headers, body });
  expect(response.status).toBe(201);
  return (await response.json()) as StoredFile;
}

/** A connection on which a request was sent. */
function send({ url }: Running, request: string | Uint8Array): { socket: Socket; received: () => string } {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (data) => {
    received += data.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.write(request);
  return { socket, received: () => received };
}

function filesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((item) => item.isFile()).length;
}

test("thumbnails whose callers have disconnected are not made before the thumbnail of a waiting caller", async () => {
  singleService("files");
  const { cwd, server } = await open();
  const token = await register(server, "me@example.com");
  const large = [png(5_000, 5_000), png(5_000, 4_900)];
  const files = await Promise.all(large.map((image) => store(server, token, image)));
  const small = await store(server, token, png(50, 50));
  const requests = files.flatMap(({ url }) =>
    [16, 32, 48, 64, 96, 100, 128, 150, 200, 256].map((n) => `${url}?thumb=${n}x`),
  );
  const crowd = requests.map((path) => send(server, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`));
  const thumbnails = join(cwd, "storage/.work/thumbnails");
  await until(() => crowd.some(({ received }) => received().startsWith("HTTP/1.1 200")));
  for (const { socket } of crowd) socket.destroy();
  const answer = await fetch(`${server.url}${small.url}?thumb=16x16`);
  expect(answer.status).toBe(200);
  // The finished thumbnails, the running ones and the small thumbnail; the other requests have left the queue.
  expect(filesIn(thumbnails)).toBeLessThan(requests.length / 2);
  expect(server.output()).not.toContain("ERROR");
});

test("beyond the queue a thumbnail is 503 with Retry-After, and logged once", async () => {
  const { server } = await open({ limits: { thumbnails: 1 } });
  const token = await register(server, "me@example.com");
  const { url } = await store(server, token, png(4_000, 4_000));
  const sizes = [16, 32, 48, 64, 96, 100, 128, 150, 200, 256];
  const answers = await Promise.all(sizes.map((n) => fetch(`${server.url}${url}?thumb=${n}x`)));
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of refused) {
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await answer.json()).toMatchObject({ error: { code: "unavailable" } });
  }
  expect(answers.filter(({ status }) => status === 200).length).toBe(answers.length - refused.length);
  expect(server.output().match(/A limit was reached limit=thumbnails/g)).toHaveLength(1);
});

test("slow uploads of a user keep no other user waiting, and beyond a share are refused unread", async () => {
  singleService("files");
  const { cwd, server } = await open({ limits: { uploads: 16 } });
  const busy = await register(server, "busy@example.com");
  const other = await register(server, "other@example.com");
  const head = (token: string): string =>
    `POST /api/storage/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${formType}\r\nContent-Length: 900000\r\n\r\n`;
  const begun = fileForm("y".repeat(50_000)).subarray(0, 40_000);
  const start = (token: string) => send(server, Buffer.concat([Buffer.from(head(token)), begun]));
  const uploads = join(cwd, "storage/.work/uploads");
  // The turns and half of the places to wait.
  const slow = Array.from({ length: 12 }, () => start(busy));
  await until(() => filesIn(uploads) === slow.length);
  const refused = start(busy);
  await until(() => refused.received().includes("\r\n\r\n"));
  expect(refused.received()).toStartWith("HTTP/1.1 503");
  expect(refused.received()).toMatch(/^retry-after: 1\r$/im);
  expect(filesIn(uploads)).toBe(slow.length);
  expect((await store(server, other, Buffer.from("content"))).size).toBe(7);
  for (const { socket } of [...slow, refused]) socket.destroy();
  await until(() => filesIn(uploads) === 0);
  expect((await store(server, busy, Buffer.from("content"))).size).toBe(7);
});

describe("a download that the client breaks off releases its stream and its descriptor", () => {
  const content = Buffer.alloc(10 * 1024 * 1024, "0123456789");

  async function breakOff(server: Running): Promise<void> {
    const file = await store(server, await register(server, "me@example.com"), content);
    const descriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
    expect((await (await fetch(server.url + file.url)).bytes()).length).toBe(content.length);
    const before = descriptors();
    for (let round = 0; round < 3; round++) {
      const sockets = Array.from({ length: 20 }, () => send(server, `GET ${file.url} HTTP/1.1\r\nHost: x\r\n\r\n`));
      await Promise.all(sockets.map(({ socket }) => new Promise((resolve) => socket.once("data", resolve))));
      for (const { socket } of sockets) socket.pause();
      expect(descriptors()).toBeGreaterThan(before);
      for (const { socket } of sockets) socket.destroy();
      // Keep-alive connections to the store may stay: as many as one round has left, not more.
      await until(() => descriptors() <= before + 5);
    }
    expect((await (await fetch(server.url + file.url)).bytes()).length).toBe(content.length);
    expect(server.output()).not.toContain("ERROR");
  }

  test("from a folder", async () => {
    await breakOff((await open()).server);
  });

  test("from a bucket", async () => {
    const s3 = await startS3();
    const config = { storage: `s3://${bucket}/files`, s3: { accessKeyId: s3Key, region: "us-east-1" } };
    const env = { SERVICE_S3_ENDPOINT: s3.endpoint, SERVICE_S3_SECRET_ACCESS_KEY: s3Key };
    await breakOff((await open(config, env)).server);
  });
});
