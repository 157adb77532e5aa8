/** Load of a cluster: writers with known histories, which remember for each write whether it was acknowledged, refused, or is unknown. */
import type { TestInstance } from "./cluster-kit.ts";

/** Answers that promise that nothing was changed. */
const certain = /nothing was changed|has no contact with the others|has no event \d+ yet/;

/** How a request that changes something ended for a client. Times by `performance.now()`. */
export interface Told {
  readonly outcome: "acknowledged" | "refused" | "unknown";
  /** The position of an answer that acknowledged the change; otherwise 0. */
  readonly position: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The text of an answer that acknowledged nothing. */
  readonly told: string;
  /** The JSON of an answer that acknowledged the change; otherwise null. */
  readonly body: unknown;
}

interface Sent {
  readonly method: "POST" | "PUT";
  readonly path: string;
  readonly body: object;
  readonly token?: string;
  /** How long the client waits for the answer. */
  readonly ms?: number;
}

/** Sends a request once; a broken connection and an answer without a promise are unknown. */
export async function send({ url }: Pick<TestInstance, "url">, { method, path, body, token, ms }: Sent): Promise<Told> {
  const sentAt = performance.now();
  const none = { sentAt, position: 0, body: null };
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        "Content-Type": "application/json",
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      // The runtime would send a PUT again when a kept connection breaks.
      keepalive: method === "POST",
      ...(ms !== undefined && { signal: AbortSignal.timeout(ms) }),
    });
    const text = await response.text();
    const answeredAt = performance.now();
    if (response.ok) {
      const position = Number(response.headers.get("socle-position"));
      return {
        sentAt,
        position,
        answeredAt,
        outcome: "acknowledged",
        told: "",
        body: text === "" ? null : JSON.parse(text),
      };
    }
    const isRefused = response.status < 500 || certain.test(text);
    return { ...none, answeredAt, outcome: isRefused ? "refused" : "unknown", told: `${response.status} ${text}` };
  } catch (error) {
    // No connection was opened, so nothing was sent.
    const isRefused = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
    const outcome = isRefused ? "refused" : "unknown";
    return { ...none, answeredAt: performance.now(), outcome, told: String(error) };
  }
}

export interface Write extends Omit<Told, "body"> {
  readonly n: number;
  /** The id of the record, if the write was acknowledged. */
  readonly id: string;
}

/** Creates a record. */
export async function write(instance: TestInstance, path: string, body: { n: number }): Promise<Write> {
  const { body: record, ...told } = await send(instance, { method: "POST", path, body });
  return { ...told, n: body.n, id: record === null ? "" : (record as { id: string }).id };
}

export interface Load {
  readonly writes: Write[];
  /** Ends the writers, and waits for their last answers. */
  stop(): Promise<void>;
}

/** The next number of a write: no number is used twice in a process of tests, and tests that write by hand use small numbers. */
let next = 1_000_000;

/** The pause of a writer after each write: a fault meets some write at each moment, and the machine computes for the instances. */
const pauseMs = 100;

/** Creates records in turn at the instances, with `width` writers. */
export function startLoad(instances: readonly TestInstance[], { path = "/api/posts", width = 6 } = {}): Load {
  const writes: Write[] = [];
  let isOn = true;
  const writer = async (index: number): Promise<void> => {
    for (let turn = index; isOn; turn++) {
      const instance = instances[turn % instances.length];
      if (instance === undefined) return;
      const done = await write(instance, path, { n: next++ });
      writes.push(done);
      await Bun.sleep(pauseMs);
    }
  };
  const running = Promise.all(Array.from({ length: width }, (_, index) => writer(index)));
  return {
    writes,
    stop: async () => {
      isOn = false;
      await running;
    },
  };
}

/** Compares a database with the promises of a history, by the numbers of the records. Answers each broken promise. */
export function broken(writes: readonly Write[], numbers: readonly number[]): string[] {
  const counts = new Map<number, number>();
  for (const n of numbers) counts.set(n, (counts.get(n) ?? 0) + 1);
  const problems: string[] = [];
  for (const { n, outcome, told } of writes) {
    const count = counts.get(n) ?? 0;
    if (outcome === "acknowledged" && count !== 1) problems.push(`${n} was acknowledged, and is there ${count} times`);
    if (outcome === "unknown" && count > 1) problems.push(`${n} is unknown, and is there ${count} times`);
    if (outcome === "refused" && count > 0) problems.push(`${n} was refused (${told}), and is there ${count} times`);
  }
  return problems;
}
