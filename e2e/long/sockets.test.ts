/** Memory under sockets that never read, and under many uploads at once. */
import { expect, test } from "bun:test";
import { fileForm, formType } from "../../packages/server/test/forms.ts";
import { peakMiB, post, project, serve } from "../kit.ts";

const items = { name: "items", fields: [{ name: "text", type: "text" }] };

async function subscribe(url: string, onEvent: () => void): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime`);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.onopen = () => socket.send('{"action":"subscribe","channel":"items.*"}');
  socket.onmessage = ({ data }) => {
    if (String(data).includes('"subscribed"')) resolve();
    else if (String(data).includes('"event"')) onEvent();
  };
  await promise;
  return socket;
}

const deafCount = 50;
/** `realtime.bufferLimit` is 1 MiB of waiting bytes; the buffer's memory grows in steps, and was 1.2 to 1.3 MiB. */
const allowedMiB = 1.5;

test(`${deafCount} sockets that never read are cut off with their buffers full, and the others receive everything`, async () => {
  const server = await serve(await project({ collections: [items] }));
  let heard = 0;
  const quick = await Promise.all(
    Array.from({ length: 10 }, () =>
      subscribe(server.url, () => {
        heard += 1;
      }),
    ),
  );
  const text = "x".repeat(10_000);
  const write = async (): Promise<void> => {
    for (let n = 0; n < 1_500; n++) await post(`${server.url}/api/items`, { text });
  };
  await write();
  // The memory that the same writes take without sockets is subtracted.
  const base = await peakMiB(server, write);
  const deaf = await Promise.all(Array.from({ length: deafCount }, () => subscribe(server.url, () => undefined)));
  let closed = 0;
  for (const socket of deaf) {
    socket.onclose = () => {
      closed += 1;
    };
    socket.pause();
  }
  const peak = await peakMiB(server, write);
  console.log(`${deafCount} sockets that never read: ${(peak - base).toFixed(0)} MiB more`);
  expect(peak - base).toBeLessThan(deafCount * allowedMiB);
  await Bun.sleep(500);
  expect(heard).toBe(10 * 4_500);
  for (const socket of deaf) socket.resume();
  await Bun.sleep(1_000);
  expect(closed).toBe(deafCount);
  for (const socket of quick) socket.close();
  await server.stop();
});

test("fifty uploads of 10 MiB at once, and fifty downloads, cost at most 120 MiB in all", async () => {
  const server = await serve(await project());
  // A user has an eighth of the places that wait, and three of four that are read: 35 at once (docs/limits.md).
  const tokens = await Promise.all(
    ["me", "you"].map(async (name) => {
      const registered = await post(`${server.url}/api/auth/register`, {
        email: `${name}@example.com`,
        password: "long enough",
      });
      return ((await registered.json()) as { token: string }).token;
    }),
  );
  const form = fileForm(Buffer.alloc(10 * 1024 * 1024, "0123456789"), { visibility: "public" });
  const base = await peakMiB(server);
  const urls: string[] = [];
  const up = await peakMiB(server, async () => {
    await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const headers = { Authorization: `Bearer ${tokens[i % tokens.length]}`, "Content-Type": formType };
        const init = { method: "POST", headers, body: form };
        const response = await fetch(`${server.url}/api/storage/upload`, init);
        expect(response.status).toBe(201);
        urls.push(((await response.json()) as { url: string }).url);
      }),
    );
  });
  const down = await peakMiB(server, async () => {
    await Promise.all(
      urls.map(async (url) => {
        let size = 0;
        for await (const chunk of (await fetch(server.url + url)).body ?? []) size += chunk.byteLength;
        expect(size).toBe(10 * 1024 * 1024);
      }),
    );
  });
  console.log(`fifty uploads: ${(up - base).toFixed(0)} MiB more; fifty downloads: ${(down - base).toFixed(0)}`);
  expect(Math.max(up, down) - base).toBeLessThan(120);
  await server.stop();
});
