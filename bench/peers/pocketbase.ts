/** PocketBase with its default settings, for the comparison: built with Go, the version pinned. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { residentMiB } from "../server.ts";
import type { Peer } from "./peer.ts";

export const pocketBaseVersion = process.env["BENCH_POCKETBASE"] ?? "v0.39.11";

/** The executable of PocketBase, in a temporary folder that later runs use again. */
export async function buildPocketBase(): Promise<string> {
  const folder = join(tmpdir(), `socle-bench-pocketbase-${pocketBaseVersion}`);
  const file = join(folder, "base");
  if (existsSync(file)) return file;
  const go = Bun.which("go") ?? "/usr/local/go/bin/go";
  if (!existsSync(go)) throw new Error("The comparison needs Go, with which PocketBase is built: https://go.dev/dl/");
  await mkdir(folder, { recursive: true });
  // The main package of PocketBase's own releases.
  const command = [go, "install", `github.com/pocketbase/pocketbase/examples/base@${pocketBaseVersion}`];
  const { exitCode } = Bun.spawnSync(command, { env: { ...process.env, GOBIN: folder }, stderr: "inherit" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed`);
  return file;
}

const rules = { listRule: "", viewRule: "", createRule: "", updateRule: "", deleteRule: "" };
const collection = {
  name: "items",
  type: "base",
  ...rules,
  fields: [
    { name: "title", type: "text", required: true, max: 200 },
    { name: "body", type: "text" },
    { name: "count", type: "number", onlyInt: true, min: 0 },
    { name: "score", type: "number" },
    { name: "created", type: "autodate", onCreate: true },
    { name: "updated", type: "autodate", onCreate: true, onUpdate: true },
  ],
  indexes: ["CREATE INDEX idx_items_count ON items (count)"],
};

async function post(url: string, body: object, token = ""): Promise<Record<string, unknown>> {
  const headers = { "Content-Type": "application/json", ...(token !== "" && { Authorization: token }) };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === "" ? {} : JSON.parse(text);
}

/** The events of a stream of server-sent events: name and data. */
async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      const field = (name: string): string => lines.find((line) => line.startsWith(name))?.slice(name.length) ?? "";
      yield { event: field("event:"), data: field("data:") };
      text = text.slice(end + 2);
    }
  }
}

async function subscribe(url: string, on: (count: number) => void): Promise<{ close(): void }> {
  const abort = new AbortController();
  const response = await fetch(`${url}/api/realtime`, { signal: abort.signal });
  if (response.body === null) throw new Error("The stream of events has no body");
  const connected = Promise.withResolvers<string>();
  const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const { event, data } of eventsOf(stream)) {
      const message = JSON.parse(data);
      if (event === "PB_CONNECT") connected.resolve(message.clientId);
      else if (message.action === "create") on(message.record.count);
    }
  };
  read(response.body).catch((cause) => {
    if (!abort.signal.aborted) throw cause;
  });
  await post(`${url}/api/realtime`, { clientId: await connected.promise, subscriptions: ["items/*"] });
  return { close: () => abort.abort() };
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const { port } = listener;
  listener.stop();
  return port;
}

/** @param folder empty, for the data. */
export async function startPocketBase(executable: string, folder: string): Promise<Peer> {
  const admin = { identity: "admin@example.com", password: "a long password" };
  const made = Bun.spawnSync([executable, "superuser", "create", admin.identity, admin.password, "--dir", folder]);
  if (made.exitCode !== 0) throw new Error(`PocketBase has no superuser: ${made.stderr.toString()}`);
  const address = `127.0.0.1:${freePort()}`;
  const url = `http://${address}`;
  const child = Bun.spawn([executable, "serve", "--http", address, "--dir", folder], { stdout: "ignore" });
  const end = performance.now() + 30_000;
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/api/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) {
    if (performance.now() > end) throw new Error("PocketBase did not answer within 30 seconds");
    await Bun.sleep(50);
  }
  const { token } = await post(`${url}/api/collections/_superusers/auth-with-password`, admin);
  await post(`${url}/api/collections`, collection, String(token));
  return {
    name: "PocketBase",
    url,
    records: "/api/collections/items/records",
    listOptions: "perPage=20&skipTotal=1",
    ids: [],
    resident: () => residentMiB(child.pid),
    subscribe: (on) => subscribe(url, on),
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}
