/**
 * Shares of callers: attacks of one user, each beside a control, which is the same load without the attack, and a bystander. The counters
 * say who was refused and who waited; the bystander's times are printed beside those of the control.
 */
import { Database } from "bun:sqlite";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { post, project, type Running, serve } from "../kit.ts";
import { quantile } from "./measure.ts";
import { bearer } from "./raw.ts";

const json = { "Content-Type": "application/json" };
const open = { read: "public", create: "authenticated", update: "authenticated", delete: "admin" };
const many = 30;

/** The service under attack, and the users. */
interface World {
  readonly server: Running;
  readonly cwd: string;
  /** The attacker, and the bystander. */
  readonly ann: string;
  readonly bob: string;
  /** Records of `seats`: the first is the bystander's. */
  readonly seats: readonly string[];
  /** API keys of the attacker, each with other scopes. */
  readonly keys: readonly string[];
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Ask = (world: World, n: number) => Promise<Answer>;

interface ShareCase {
  /** Requests of the attack at a time. */
  readonly width: number;
  readonly attack: Ask;
  /** The same load without the attack. */
  readonly control: Ask;
  readonly bystander: Ask;
  /** The counters that are wrong. */
  readonly faults: (outcome: Outcome, world: World) => string[] | Promise<string[]>;
}

/** Of one run: the bystander's milliseconds, the statuses, and how many answers the attack got during each request of the bystander. */
export interface Outcome {
  readonly times: readonly number[];
  readonly statuses: ReadonlyMap<number, number>;
  readonly attacked: ReadonlyMap<number, number>;
  readonly overtaking: readonly number[];
}

const code: { readonly [path: string]: string } = {
  "functions/orders/count.ts": `export const beforeCreate = async ({ record, db }) => {
    const { total } = await db.collection("orders").list({ filter: 'item = "' + record.item + '"', count: "exact", limit: 1 });
    if (total >= 1_000_000) throw new Refusal("sold out");
  };`,
  "endpoints/take.ts": `export const POST = async (request, { db }) => {
    const { id } = await request.json();
    await db.transaction(async (tx) => {
      const { n } = await tx.collection("seats").get(id);
      await tx.collection("seats").list({ limit: 20 });
      await tx.collection("seats").update(id, { n: (n ?? 0) + 1 });
    });
    return Response.json({});
  };`,
  "endpoints/take-own.ts": `export const POST = async (request, { db }) => {
    const { id } = await request.json();
    await db.transaction(async (tx) => {
      const { n } = await tx.collection("seats").get(id);
      await tx.collection("seats").update(id, { n: (n ?? 0) + 1 });
    });
    return Response.json({});
  };`,
  "endpoints/loop.ts": "export const GET = () => { for (;;); };",
  "endpoints/calm.ts": "export const GET = () => Response.json({});",
};

async function ask(
  { server }: World,
  path: string,
  { token, body, headers }: { token: string; body?: string | object; headers?: Record<string, string> },
): Promise<Answer> {
  const init =
    body === undefined ? {} : { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) };
  try {
    const answer = await fetch(`${server.url}${path}`, { ...init, headers: { ...json, ...bearer(token), ...headers } });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

const read: Ask = (world) => ask(world, `/api/seats/${world.seats[0]}`, { token: world.bob });
const only = (statuses: ReadonlyMap<number, number>, ...allowed: number[]): string[] =>
  [...statuses].filter(([status]) => !allowed.includes(status)).map(([status, n]) => `${n} answers ${status}`);
const isOvertaken = ({ overtaking }: Outcome, most: number): string[] => {
  const waits = quantile(overtaking, 0.5);
  return waits <= most ? [] : [`${waits} answers of the attack during a request of the bystander`];
};

/** The sockets of the attacker, each with 50 windows at most. */
const sockets = new WeakMap<World, Map<number, Promise<WebSocket | null>>>();

/** Views a window. The status is 201, or 429 for a window that the limit refuses. */
async function view(world: World, n: number, filter: string): Promise<Answer> {
  const opened = sockets.get(world) ?? new Map<number, Promise<WebSocket | null>>();
  sockets.set(world, opened);
  const socket = await opened.getOrInsertComputed(Math.floor(n / 50), () => {
    const made = new WebSocket(`${world.server.url.replace("http", "ws")}/api/realtime?token=${world.ann}`);
    return new Promise((resolve) => {
      made.onopen = () => resolve(made);
      // The service may stop, at the end of the attack, while a socket connects.
      made.onerror = () => resolve(null);
    });
  });
  const id = `q${n}`;
  if (socket?.readyState !== WebSocket.OPEN) return { status: 0, text: "" };
  return new Promise((resolve) => {
    const hear = ({ data }: MessageEvent): void => {
      const frame = JSON.parse(String(data)) as { type: string; id?: string; code?: string };
      if (frame.id !== id || (frame.type !== "subscribed" && frame.type !== "error")) return;
      socket.removeEventListener("message", hear);
      resolve({ status: frame.type === "subscribed" ? 201 : frame.code === "query_limit" ? 429 : 999, text: "" });
    };
    socket.addEventListener("message", hear);
    socket.addEventListener("close", () => resolve({ status: 0, text: "" }));
    socket.send(JSON.stringify({ action: "subscribe", id, query: { collection: "seats", limit: 1, filter } }));
  });
}

const nested = `{"data":[${"[],".repeat(330_000)}0]}`;
const flat = `{"data":[${"7,".repeat(500_000)}0]}`;

export const shareCases: { readonly [name: string]: ShareCase } = {
  "writes whose counting hooks conflict": {
    width: 40,
    attack: (world) => ask(world, "/api/orders", { token: world.ann, body: { item: "crowded" } }),
    control: (world, n) => ask(world, "/api/orders", { token: world.ann, body: { item: `own ${n}` } }),
    bystander: (world) => ask(world, "/api/orders", { token: world.bob, body: { item: "calm" } }),
    faults: (outcome) => [...only(outcome.statuses, 201), ...only(outcome.attacked, 201), ...isOvertaken(outcome, 20)],
  },
  "transactions that conflict": {
    width: 40,
    attack: (world) => ask(world, "/api/function/take", { token: world.ann, body: { id: world.seats[1] } }),
    control: (world, n) =>
      ask(world, "/api/function/take-own", { token: world.ann, body: { id: world.seats[1 + (n % (many - 1))] } }),
    bystander: (world) => ask(world, "/api/function/take", { token: world.bob, body: { id: world.seats[0] } }),
    faults: (outcome) => [
      ...only(outcome.statuses, 200),
      ...only(outcome.attacked, 200, 409),
      ...isOvertaken(outcome, 20),
    ],
  },
  "OpenAPI documents of nine keys": {
    width: 18,
    attack: async (world, n) => {
      const answer = await ask(world, "/api/openapi.json", { token: world.keys[n % world.keys.length] ?? "" });
      if (answer.status !== 200) return answer;
      const own = Object.keys(JSON.parse(answer.text).paths).filter((path) => path.startsWith("/api/many"));
      return own.every((path) => /^\/api\/many(\d+)\b/.exec(path)?.[1] === String(n % world.keys.length))
        ? answer
        : { ...answer, status: 999 };
    },
    control: (world) => ask(world, "/api/openapi.json", { token: world.keys[0] ?? "" }),
    bystander: read,
    faults: ({ statuses, attacked }) => [...only(statuses, 200), ...only(attacked, 200)],
  },
  "live queries of one record": {
    width: 50,
    attack: (world, n) => view(world, n, `n = ${1_000 + n}`),
    control: (world, n) => view(world, n, "n = 1000"),
    bystander: (world) => ask(world, "/api/seats", { token: world.bob, body: { n: 1 } }),
    faults: ({ statuses, attacked }) => {
      const admitted = attacked.get(201) ?? 0;
      // The share of a caller, and 37 records for each window.
      const isBounded = admitted > 0 && admitted < 3_700;
      return [
        ...only(statuses, 201),
        ...only(attacked, 201, 429),
        ...(isBounded ? [] : [`${admitted} windows were admitted`]),
      ];
    },
  },
  "bodies of very many arrays": {
    width: 4,
    attack: (world) => ask(world, "/api/papers", { token: world.ann, body: nested }),
    control: (world) => ask(world, "/api/papers", { token: world.ann, body: flat }),
    bystander: read,
    faults: ({ statuses, attacked }) => [...only(statuses, 200), ...only(attacked, 201, 503)],
  },
  "refused batches with keys": {
    width: 8,
    attack: (world, n) =>
      ask(world, "/api/batch", { token: world.ann, body: "{}", headers: { "Idempotency-Key": `k${n}` } }),
    control: (world) => ask(world, "/api/batch", { token: world.ann, body: "{}" }),
    bystander: read,
    faults: ({ statuses, attacked }, { cwd }) => {
      const rows = new Database(join(cwd, "socle.db"), { readonly: true }).query(
        "SELECT count(*) AS n FROM _kept_answers",
      );
      const { n } = rows.get() as { n: number };
      return [...only(statuses, 200), ...only(attacked, 400), ...(n === 0 ? [] : [`${n} refusals are on the disk`])];
    },
  },
  "endpoints that loop": {
    width: 4,
    attack: (world) => ask(world, "/api/function/loop", { token: world.ann }),
    control: (world) => ask(world, "/api/function/calm", { token: world.ann }),
    bystander: (world) => ask(world, "/api/function/calm", { token: world.bob }),
    faults: ({ statuses }) => only(statuses, 200),
  },
};

async function prepare(): Promise<World> {
  const collections = [
    { name: "orders", fields: [{ name: "item", type: "string" }], indexes: [["item"]], permissions: open },
    { name: "seats", fields: [{ name: "n", type: "integer" }], permissions: open },
    { name: "papers", fields: [{ name: "data", type: "json" }], permissions: open },
    ...Array.from({ length: many }, (_, n) => ({
      name: `many${n}`,
      fields: Array.from({ length: 12 }, (_field, f) => ({ name: `field${f}`, type: "string" })),
      permissions: open,
    })),
  ];
  const cwd = await project({ collections, config: { openapi: { public: true }, limits: { body: "2MiB" } } });
  for (const [path, text] of Object.entries(code)) {
    await mkdir(join(cwd, dirname(path)), { recursive: true });
    await Bun.write(join(cwd, path), text);
  }
  const server = await serve(cwd);
  const user = async (name: string): Promise<string> => {
    const answer = await post(`${server.url}/api/auth/register`, {
      email: `${name}@example.com`,
      password: "a long password",
    });
    return ((await answer.json()) as { accessToken: string }).accessToken;
  };
  const [ann, bob] = [await user("ann"), await user("bob")];
  const made = async (path: string, body: object): Promise<Record<string, string>> =>
    (await post(`${server.url}${path}`, body, bearer(ann))).json() as Promise<Record<string, string>>;
  const seats: string[] = [];
  for (let n = 0; n < many; n += 1) seats.push((await made("/api/seats", { n: 0 }))["id"] ?? "");
  const keys: string[] = [];
  for (let n = 0; n < 9; n += 1)
    keys.push((await made("/api/auth/keys", { name: `k${n}`, scopes: [`many${n}:read`, "orders:read"] }))["key"] ?? "");
  return { server, cwd, ann, bob, seats, keys };
}

/** Runs the attack or the control beside the bystander, on a fresh service. */
export async function suffer(
  name: string,
  kind: "attack" | "control",
  size: { readonly seconds: number; readonly share: number },
): Promise<{ readonly outcome: Outcome; readonly faults: readonly string[] }> {
  const each = shareCases[name];
  if (each === undefined) throw new Error(`There is no case "${name}"`);
  const world = await prepare();
  const count = (counts: Map<number, number>, status: number): unknown =>
    counts.set(status, (counts.get(status) ?? 0) + 1);
  const [statuses, attacked] = [new Map<number, number>(), new Map<number, number>()];
  // The processes of the user's code run from now on.
  await each.bystander(world, 0);
  let [n, answered] = [0, 0];
  let isOver = false;
  const line = async (): Promise<void> => {
    while (!isOver) {
      n += 1;
      const { status } = await each[kind](world, n);
      if (isOver) return;
      answered += 1;
      count(attacked, status);
    }
  };
  const lines = Array.from({ length: Math.max(2, Math.round(each.width * size.share)) }, line);
  const [times, overtaking]: [number[], number[]] = [[], []];
  const end = performance.now() + size.seconds * 1_000;
  for (let asked = 0; asked < 10 || performance.now() < end; asked += 1) {
    const [start, before] = [performance.now(), answered];
    count(statuses, (await each.bystander(world, asked)).status);
    times.push(performance.now() - start);
    overtaking.push(answered - before);
    await Bun.sleep(5);
  }
  isOver = true;
  const outcome = { times, statuses, attacked, overtaking };
  const faults = kind === "attack" ? await each.faults(outcome, world) : only(statuses, 200, 201);
  await world.server.stop();
  await Promise.all(lines);
  return { outcome, faults };
}
