/** The floor's checkpoints, on a thread as in the service. */
import { Database } from "bun:sqlite";

declare const self: Worker;

self.onmessage = (event: MessageEvent<string>) => {
  const database = new Database(event.data);
  database.run("PRAGMA wal_autocheckpoint = 0");
  setInterval(() => database.query("PRAGMA wal_checkpoint(PASSIVE)").get(), 100);
};
