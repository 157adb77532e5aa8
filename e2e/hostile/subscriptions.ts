/** The attacks of the hostile suite on subscriptions: filters that cost much, live and in replays, and floods of frames that subscribe. */
import { bearer, over, send, type Target } from "./raw.ts";

/** How much of an attack is made: 1 is the long form. */
interface Strength {
  readonly signal: AbortSignal;
  readonly share: number;
}

type Frame = Record<string, unknown>;

/** Comments of the post, and characters of each comment. */
const comments = { count: 950, length: 20_000 };

const json = { "Content-Type": "application/json" };

/** A socket of an attacker. The socket reads all frames, and counts the answers. */
class Attacker {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  answers = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame["type"] !== "event" && frame["type"] !== "connected") this.answers += 1;
      if (this.frames.length < 1_000) this.frames.push(frame);
    };
  }

  static open({ url, address }: Target, token?: string): Promise<Attacker | null> {
    const query = token === undefined ? "" : `?token=${token}`;
    const headers = { "X-Forwarded-For": address };
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime${query}`, { headers });
    return new Promise((resolve) => {
      socket.onopen = () => resolve(new Attacker(socket));
      socket.onclose = () => resolve(null);
      socket.onerror = () => resolve(null);
    });
  }

  subscribe(frame: Frame): void {
    this.socket.send(JSON.stringify({ action: "subscribe", channel: "posts.*", ...frame }));
  }

  /** Subscribes to a live query. */
  view(id: string, query: object): void {
    this.socket.send(JSON.stringify({ action: "subscribe", id, query }));
  }

  /** Waits until something is so, or the attack is over. */
  async until(signal: AbortSignal, isSo: () => boolean): Promise<void> {
    while (!isSo() && !signal.aborted && this.socket.readyState === WebSocket.OPEN) await Bun.sleep(5);
  }
}

async function opened(target: Target, tokens: readonly (string | undefined)[]): Promise<Attacker[]> {
  const sockets = await Promise.all(tokens.map((token) => Attacker.open(target, token)));
  return sockets.filter((socket) => socket !== null);
}

/** The id of a new record. */
async function create(target: Target, collection: string, body: object): Promise<string> {
  const headers = { ...json, ...bearer(target.tokens[0]), "X-Forwarded-For": target.address };
  const answer = await fetch(`${target.url}/api/${collection}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as { id: string }).id;
}

/** A post with its comments. */
async function post(target: Target, { share }: Strength): Promise<string> {
  const post = await create(target, "posts", { title: "a" });
  const body = "xé".repeat(comments.length / 2);
  const count = Math.round(comments.count * share);
  for (let n = 0; n < count; n += 16)
    await Promise.all(
      Array.from({ length: Math.min(16, count - n) }, () => create(target, "comments", { post, body })),
    );
  return post;
}

function put(target: Target, path: string, title: string): Promise<number> {
  const headers = { ...json, ...bearer(target.tokens[0]) };
  return send(target, path, { method: "PUT", headers, body: JSON.stringify({ title }) });
}

/** A filter that looks at all comments. */
const costly = (n: number): string => `comments(post)[lower(body) ~ "never é ${n}"]`;

/** A filter of 1.4 KB that no other is equal to. */
function long(n: number): string {
  return Array.from({ length: 45 }, (_, term) => `lower(title) ~ "é${n}.${term}"`).join(" || ");
}

export const subscriptionAttacks: { readonly [name: string]: (target: Target, strength: Strength) => Promise<void> } = {
  "filters that look at many long records": async (target, strength) => {
    const { signal } = strength;
    const id = await post(target, strength);
    const [token] = target.tokens;
    const sockets = await opened(target, [token, token]);
    for (const [index, socket] of sockets.entries())
      for (let n = 0; n < 50; n++) socket.subscribe({ id: `s${n}`, filter: costly(index * 50 + n) });
    for (const socket of sockets) await socket.until(signal, () => socket.answers >= 50);
    for (let n = 0; !signal.aborted; n++) {
      await put(target, `/api/posts/${id}`, `${n}`);
      await Bun.sleep(50);
    }
    for (const { socket } of sockets) socket.close();
  },

  "replays through filters that look at many long records": async (target, strength) => {
    const { signal } = strength;
    const id = await post(target, strength);
    const [token] = target.tokens;
    const [first] = await opened(target, [token]);
    first?.subscribe({});
    await first?.until(signal, () => first.answers > 0);
    for (let n = 0; n < 20; n++) await put(target, `/api/posts/${id}`, `${n}`);
    const event = () => first?.frames.find(({ type }) => type === "event")?.["event"] as { id: string } | undefined;
    await first?.until(signal, () => event() !== undefined);
    const since = event()?.id;
    for (let round = 0; !signal.aborted; round++) {
      const sockets = await opened(
        target,
        Array.from({ length: 8 }, () => token),
      );
      for (const [index, socket] of sockets.entries())
        for (let n = 0; n < 50; n++)
          socket.subscribe({ id: `s${n}`, since, filter: costly((round * 8 + index) * 50 + n) });
      await Promise.race([over(signal), Bun.sleep(2_000)]);
      for (const { socket } of sockets) socket.close();
    }
    first?.socket.close();
  },

  "floods of frames that subscribe": async (target, { signal, share }) => {
    const sockets = await opened(
      target,
      Array.from({ length: Math.max(2, Math.round(40 * share)) }, (_, n) =>
        n % 2 === 0 ? target.tokens[0] : undefined,
      ),
    );
    let n = 0;
    const flood = async (socket: Attacker): Promise<void> => {
      while (!signal.aborted && socket.socket.readyState === WebSocket.OPEN) {
        const before = socket.answers;
        for (let i = 0; i < 48; i++) {
          n += 1;
          socket.subscribe({ id: `s${i}`, filter: long(n) });
        }
        await socket.until(signal, () => socket.answers >= before + 48);
      }
    };
    await Promise.all(sockets.map(flood));
    for (const { socket } of sockets) socket.close();
  },

  /** Different queries over pages that each write changes: lists that no index answers, groups, and windows of 1,000. */
  "live queries of eight users": async (target, { signal, share }) => {
    const sockets = await opened(target, target.crowd);
    const perSocket = Math.max(4, Math.round(48 * share));
    for (const [index, socket] of sockets.entries())
      for (let n = 0; n < perSocket; n++) {
        const filter = `text ~ "é${index}.${n}" || n >= 0`;
        const kinds = [{ filter, sort: "text", limit: 50 }, { filter, group: "n", aggregate: "count" }, { filter }];
        socket.view(`q${n}`, { collection: "pages", ...kinds[n % kinds.length] });
      }
    const headers = (token: string | undefined) => ({ ...json, ...bearer(token) });
    for (let n = 0; !signal.aborted; n++) {
      const body = JSON.stringify({ text: `page ${n}`, n: n % 7 });
      await send(target, "/api/pages", { method: "POST", headers: headers(target.crowd[n % 8]), body });
      await Bun.sleep(20);
    }
    for (const { socket } of sockets) socket.close();
  },

  "filters of one caller that take all there are": async (target, { signal }) => {
    const [token, other] = target.tokens;
    const sockets = await opened(target, [token, token, other]);
    const innocent = sockets.pop();
    for (const [index, socket] of sockets.entries())
      for (let n = 0; n < 50; n++) socket.subscribe({ id: `s${n}`, filter: `comments(post)[body = "${index} ${n}"]` });
    for (const socket of sockets) await socket.until(signal, () => socket.answers >= 50);
    innocent?.subscribe({ id: "mine", filter: 'comments(post)[body = "mine"]' });
    await innocent?.until(signal, () => innocent.answers > 0);
    const isRefused = innocent?.frames.some(({ type }) => type === "error") === true;
    await over(signal);
    for (const { socket } of [...sockets, ...(innocent === undefined ? [] : [innocent])]) socket.close();
    if (isRefused) throw new Error("Another caller was refused a filter");
  },
};
