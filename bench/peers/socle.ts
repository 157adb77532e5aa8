/** Socle with its default settings, for the comparison. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startServer } from "../server.ts";
import type { Peer } from "./peer.ts";

const fields = [
  { name: "title", type: "string", required: true, max: 200 },
  { name: "body", type: "text" },
  { name: "count", type: "integer", min: 0 },
  { name: "score", type: "float" },
];

/** @param folder empty, for the project and the data. */
export async function startSocle(executable: string, folder: string): Promise<Peer> {
  await mkdir(join(folder, "collections"));
  await Bun.write(
    join(folder, "collections/items.json"),
    JSON.stringify({ name: "items", fields, indexes: [["count"]] }),
  );
  await Bun.write(join(folder, "config.json"), JSON.stringify({ port: 0 }));
  const server = await startServer([executable], folder);
  return {
    ...server,
    name: "Socle",
    records: "/api/items",
    listOptions: "limit=20",
    ids: [],
    async subscribe(on) {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/realtime`);
      const subscribed = Promise.withResolvers<void>();
      socket.onopen = () => socket.send(JSON.stringify({ action: "subscribe", channel: "items.created" }));
      socket.onerror = () => subscribed.reject(new Error("The socket failed"));
      socket.onmessage = ({ data }) => {
        const message = JSON.parse(String(data));
        if (message.type === "subscribed") subscribed.resolve();
        else if (message.type === "event") on(message.event.payload.count);
      };
      await subscribed.promise;
      return socket;
    },
  };
}
