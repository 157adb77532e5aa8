/** An app whose parts that are loaded on use cannot be loaded, for `late.test.ts`: prints a JSON object of what the app has seen. */
Bun.plugin({
  name: "parts that are gone",
  setup({ onLoad }) {
    onLoad({ filter: /\/client\/src\/(lease|rooms|shared)\.ts$/ }, ({ path }) => {
      throw new Error(`${path} is gone`);
    });
  },
});
Object.assign(globalThis, { SharedWorker: class {} });

// The client is read without the parts.
const { createClient } = await import("../index.ts");
const { live } = await import("../entries/live.ts");

const socle = createClient({ baseUrl: process.argv.at(-1) ?? "", live, worker: "worker.js" });
const isLive = new Promise<void>((resolve) => {
  socle.collection("tasks").live(({ status }) => {
    if (status === "live") resolve();
  });
});
await isLive;
const errors: string[] = [];
const room = socle.room("lobby", "k").join({ onError: ({ code }) => errors.push(code) });
const statuses: string[] = [room.status.get()];
room.status.subscribe((status) => statuses.push(status));
while (room.status.get() !== "left") await Bun.sleep(1);
socle.close();
await Bun.sleep(0);
console.log(JSON.stringify({ errors, statuses, connection: socle.connection.get() }));
process.exit();
