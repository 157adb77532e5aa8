/** A user's program with the client, run by Node: from sign-in to an event, with the WebSocket of `ws`. */
import { filter, SocleClient, SocleError } from "@socle/client";
import { WebSocket } from "ws";

const [, , baseUrl = "", file = ""] = process.argv;
if (process.versions.bun !== undefined) throw new Error("This is to be run by Node");

// Node 22 has a WebSocket; older versions have no WebSocket.
Reflect.deleteProperty(globalThis, "WebSocket");
const without = new SocleClient({ baseUrl });
let refusal = "";
try {
  without.subscribe("notes.*", () => undefined);
} catch (error) {
  refusal = String(error);
}

const client = new SocleClient({ baseUrl, webSocket: WebSocket });
const user = await client.register({ email: "node@example.com", password: "long enough" });
const notes = client.collection("notes");
/** @type {Promise<object>} */
const heard = new Promise((resolve) => {
  client.subscribe("notes.*", resolve, { onReset: () => notes.create({ title: "from Node" }) });
});
const event = await heard;
const { items } = await notes.page({ filter: filter`title = ${"from Node"}` });
const stored = await client.storage.upload(new File([file], "a.txt"), { visibility: "public" });
const content = await (await client.storage.download(stored.id)).text();
const problem = await notes.create({}).catch((error) => error);
// A client retries a service that is away, and does not end the program.
const lost = new SocleClient({ baseUrl: "http://127.0.0.1:1", webSocket: WebSocket });
lost.subscribe("notes.*", () => undefined);
await new Promise((resolve) => setTimeout(resolve, 100));
lost.close();
client.close();
console.log(
  JSON.stringify({ refusal, user, event, items, content, isError: problem instanceof SocleError, code: problem.code }),
);
