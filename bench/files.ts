/** Fifty uploads of ten MiB at once, and fifty downloads: the memory. */

import { mkdir } from "node:fs/promises";
import { executable } from "./executable.ts";
import { startServer } from "./server.ts";

const count = 50;
const size = 10 * 1024 * 1024;

/** Runs `work` and answers the peak of resident memory. */
async function peakDuring(resident: () => number, work: () => Promise<void>): Promise<number> {
  let peak = resident();
  const sampler = setInterval(() => {
    peak = Math.max(peak, resident());
  }, 20);
  await work();
  clearInterval(sampler);
  return peak;
}

export async function measureFiles(parent: string): Promise<void> {
  const folder = `${parent}/files`;
  await mkdir(folder, { recursive: true });
  await Bun.write(`${folder}/config.json`, JSON.stringify({ port: 0 }));
  const content = new File([crypto.getRandomValues(new Uint8Array(65_536))], "part");
  const file = new File(
    Array.from({ length: size / 65_536 }, () => content),
    "ten.bin",
  );
  const server = await startServer([executable], folder, { SERVICE_LOG_LEVEL: "INFO" });
  try {
    const { url, resident } = server;
    const credentials = JSON.stringify({ email: "bench@example.com", password: "a long password" });
    const json = { "Content-Type": "application/json" };
    const registered = await fetch(`${url}/api/auth/register`, { method: "POST", headers: json, body: credentials });
    const { token } = (await registered.json()) as { token: string };
    const headers = { Authorization: `Bearer ${token}` };
    const before = resident();
    const ids: string[] = [];
    async function upload(): Promise<void> {
      const form = new FormData();
      form.set("visibility", "public");
      form.set("file", file);
      const response = await fetch(`${url}/api/storage/upload`, { method: "POST", headers, body: form });
      if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
      ids.push(((await response.json()) as { id: string }).id);
    }
    async function download(id: string): Promise<void> {
      const response = await fetch(`${url}/api/storage/${id}`);
      let read = 0;
      for await (const chunk of response.body ?? []) read += chunk.byteLength;
      if (read !== size) throw new Error(`download: ${read} of ${size} bytes`);
    }
    let start = performance.now();
    const all = (work: Promise<void>[]): Promise<void> => Promise.all(work).then(() => undefined);
    const up = await peakDuring(resident, () => all(Array.from({ length: count }, upload)));
    const upSeconds = (performance.now() - start) / 1_000;
    start = performance.now();
    const down = await peakDuring(resident, () => all(ids.map(download)));
    const downSeconds = (performance.now() - start) / 1_000;
    const more = Math.max(up, down) - before;
    const speed = (seconds: number): string => `${Math.round((count * size) / 1024 ** 2 / seconds)} MiB/s`;
    console.log(
      `\n${count} uploads of 10 MiB at once: ${(up - before).toFixed(0)} MiB more resident memory, ${speed(upSeconds)}; ${count} downloads: ${(down - before).toFixed(0)} MiB, ${speed(downSeconds)}. In all ${more.toFixed(0)} (aim ≤ 120).`,
    );
  } finally {
    await server.stop();
  }
}
