/**
 * Reads of one's own writes over the connections of other processes, at full write load: `READS=…` makes another number of reads.
 * Beside the reads, sessions end, and each process is asked about each ended session.
 */
import { expect, test } from "bun:test";
import { inParallel, post, project, serve } from "../kit.ts";
import { onEachProcess, type PinnedClient } from "../processes-kit.ts";

const reads = Number(process.env["READS"] ?? 100_000);
const processes = 3;
/** Clients that write and read at the same time, each with a connection to each process. */
const width = 16;
const sessionEvery = 500;

const config = { host: "127.0.0.1", processes, limits: { rate: { register: "off" } } };
const items = { name: "items", fields: [{ name: "n", type: "integer" }] };

test(
  `${reads} reads of a write that was just acknowledged, over the connections of other processes: no read is stale`,
  async () => {
    const { url } = await serve(await project({ collections: [items], config }), { env: { SERVICE_PROCESSES: "3" } });
    const stale: string[] = [];
    let done = 0;
    let ended = 0;
    const endSession = async (clients: readonly PinnedClient[], email: string): Promise<void> => {
      const answer = await post(`${url}/api/auth/register`, { email, password: "correct horse" });
      const { accessToken } = (await answer.json()) as { accessToken: string };
      const headers = { Authorization: `Bearer ${accessToken}` };
      for (const client of clients)
        if ((await client.request("GET", "/api/auth/me", { headers })).status !== 200)
          stale.push(`${email} is unknown`);
      await clients[0]?.request("POST", "/api/auth/logout", { headers });
      for (const client of clients)
        if ((await client.request("GET", "/api/auth/me", { headers })).status !== 401) stale.push(`${email} goes on`);
      ended += 1;
    };
    await inParallel(
      Array.from({ length: width }, (_, n) => n),
      width,
      async (n) => {
        const clients = await onEachProcess(url, processes);
        for (let round = 0; done < reads; round++) {
          const writer = clients[round % processes] as PinnedClient;
          const { id } = await writer.json<{ id: string }>("POST", "/api/items", { n: round });
          for (const reader of clients) {
            if (reader === writer) continue;
            const { status } = await reader.request("GET", `/api/items/${id}`);
            if (status !== 200) stale.push(`${id}: ${status}`);
            done += 1;
          }
          if (round % sessionEvery === 0) await endSession(clients, `user-${n}-${round}@example.com`);
        }
      },
    );
    expect(stale).toEqual([]);
    expect(done).toBeGreaterThanOrEqual(reads);
    expect(ended).toBeGreaterThanOrEqual(width);
  },
  60 * 60_000,
);
