/** A minimal WebSocket client (RFC 6455) on a raw socket: thousands of clients cost the load generator little. */

/** A masked text frame; the mask is zero, which servers accept. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const head = length < 126 ? [0x81, 0x80 | length] : [0x81, 0xfe, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), payload]);
}

/** The texts of the whole frames in `bytes`, and the remaining bytes. */
export function readFrames(bytes: Buffer): { texts: string[]; rest: Buffer } {
  const texts: string[] = [];
  let at = 0;
  while (bytes.length - at >= 2) {
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length - at < head) break;
    let length = short;
    if (short === 126) length = bytes.readUInt16BE(at + 2);
    else if (short === 127) length = Number(bytes.readBigUInt64BE(at + 2));
    if (bytes.length - at < head + length) break;
    if (((bytes[at] ?? 0) & 0x0f) === 1) texts.push(bytes.toString("utf8", at + head, at + head + length));
    at += head + length;
  }
  return { texts, rest: bytes.subarray(at) };
}

export interface Listening {
  /** `http://localhost:PORT` */
  url: string;
  token: string | null;
  channel: string;
  filter: string | null;
  /** Called with the bytes after the answer of the subscription. */
  onBytes: (bytes: Buffer) => void;
  onClose: () => void;
}

/** Connects and subscribes; resolves when the subscription is answered. */
export async function listen({
  url,
  token,
  channel,
  filter,
  onBytes,
  onClose,
}: Listening): Promise<Bun.Socket<undefined>> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let phase: "upgrading" | "subscribing" | "listening" = "upgrading";
  const query = token === null ? "" : `?token=${token}`;
  const socket = await Bun.connect<undefined>({
    hostname,
    port: Number(port),
    socket: {
      open(opened) {
        opened.write(
          `GET /api/realtime${query} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
        );
      },
      data(opened, data) {
        if (phase === "listening") {
          onBytes(data);
        } else if (phase === "subscribing") {
          // The greeting may come alone.
          if (data.includes('"connected"') && !data.includes('"subscribed"')) return;
          phase = "listening";
          if (data.includes('"subscribed"')) resolve();
          else reject(new Error(`Not subscribed: ${data.toString()}`));
        } else if (data.includes("101 Switching")) {
          phase = "subscribing";
          opened.write(textFrame(JSON.stringify({ action: "subscribe", channel, filter })));
        } else {
          reject(new Error(`Not upgraded: ${data.toString()}`));
        }
      },
      close: onClose,
    },
  });
  await promise;
  return socket;
}
