/** Kit of the tests of a cluster with faults: a cluster of three instances, and what all tests of the faults ask of the instances. */
import { afterEach, expect } from "bun:test";
import { differences, numbersAt } from "./cluster-content.ts";
import { startCluster, type TestCluster, type TestInstance } from "./cluster-kit.ts";
import { broken, type Load, type Write } from "./cluster-load.ts";
import { post, until } from "./kit.ts";

const open = { read: "public", create: "public", update: "public", delete: "public" };
const posts = { name: "posts", fields: [{ name: "n", type: "integer" }], permissions: open };
/** The time in which another instance leads, at most. */
export const takeOverMs = 10_000;

/** A cluster whose instances and engine a test stops, kills and cuts off. */
export interface FaultyCluster extends TestCluster {
  /** The writes of all tests of the file, also the writes beside a load. */
  readonly histories: Write[];
  /** Waits until each instance is ready. */
  ready(): Promise<void>;
  /** Ends the load, and looks whether each instance has exactly what the histories of all tests promise. */
  check(load: Load): Promise<void>;
}

/**
 * Starts a cluster of three instances with the collection `posts`. After each test, nothing is stopped or stalled.
 * @param options further files of the project, and settings of each instance.
 */
export async function startFaulty(
  options: { files?: Record<string, string>; settings?: Record<string, string> } = {},
): Promise<FaultyCluster> {
  const cluster = await startCluster(3, {
    files: { "collections/posts.json": JSON.stringify(posts), ...options.files },
    settings: { SERVICE_LIMITS_RATE_REGISTER: "off", SERVICE_LIMITS_RATE_LOGIN: "off", ...options.settings },
  });
  const { instances, engine } = cluster;
  const histories: Write[] = [];
  // A test that fails leaves nothing stopped.
  afterEach(async () => {
    engine.resume();
    if (!engine.isRunning) await engine.start();
    for (const { running, proxy } of instances) {
      running.signal("SIGCONT");
      proxy.flow();
    }
  });
  const ready = async (): Promise<void> => {
    for (const { url } of instances)
      while ((await fetch(`${url}/health/ready`).catch(() => null))?.status !== 200) await Bun.sleep(50);
  };
  const check = async (load: Load): Promise<void> => {
    await load.stop();
    histories.push(...load.writes);
    await ready();
    expect(await differences(instances)).toEqual([]);
    for (const instance of instances) expect(broken(histories, numbersAt(instance, "posts"))).toEqual([]);
  };
  return { ...cluster, histories, ready, check };
}

/** The password of every user. */
export const password = "a long password";
let users = 0;

/** Registers a user, and answers the access token. */
export async function tokenAt({ url }: TestInstance): Promise<string> {
  const answer = await post(`${url}/api/auth/register`, { email: `user${users++}@example.com`, password });
  expect(answer.ok).toBe(true);
  return ((await answer.json()) as { accessToken: string }).accessToken;
}

/** The status of the own user; 0 when the connection breaks. */
export async function meAt({ url }: TestInstance, token: string, ms = 15_000): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  // The connections of an instance whose role ends break.
  const answer = await fetch(`${url}/api/auth/me`, { headers, signal: AbortSignal.timeout(ms) }).catch(() => null);
  return answer?.status ?? 0;
}

export function logout({ url }: TestInstance, token: string): Promise<Response> {
  return post(`${url}/api/auth/logout`, {}, { Authorization: `Bearer ${token}` });
}

/** Waits for acknowledged writes that were sent from now on. */
export async function acknowledged(load: Load, count: number): Promise<void> {
  const now = performance.now();
  await until(
    () => load.writes.filter((each) => each.sentAt > now && each.outcome === "acknowledged").length >= count,
    2 * takeOverMs,
  );
}
