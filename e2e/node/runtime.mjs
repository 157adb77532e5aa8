/** A user's program with the client, run by each runtime: sign-in, a live query across a break, an optimistic change, files, an abort. */
import { createClient, SocleError } from "@socle/client";
import { live } from "@socle/client/live";
import { storage } from "@socle/client/storage";

const baseUrl = process.argv.at(-1);
/** @type {WebSocket[]} */
const sockets = [];
// Node before 22 has no WebSocket.
const Base = globalThis.WebSocket ?? (await import("ws")).WebSocket;
class Breakable extends Base {
  /** @param {string} url */
  constructor(url) {
    super(url);
    sockets.push(this);
  }
}
const socle = createClient({ baseUrl, live, webSocket: Breakable });
const { email } = await socle.register({ email: "runtime@example.com", password: "long enough" });

/** @type {string[]} */
const seen = [];
let wake = () => undefined;
const stop = socle.notes.where({ body: "live" }).live(({ items, status }) => {
  seen.push(`${status} ${items.map(({ title }) => title).sort()}`);
  wake();
});
/** @param {string} state */
const until = async (state) => {
  while (seen.at(-1) !== state)
    await new Promise((resolve) => {
      wake = resolve;
    });
};
await until("live ");
const creating = socle.notes.create({ title: "one", body: "live" }, { optimistic: true });
const isShownAtOnce = seen.at(-1) === "live one";
const { id } = await creating;
sockets.at(-1).close();
await until("offline one");
const session = { load: () => JSON.stringify({ accessToken: socle.accessToken }), save: () => undefined };
await createClient({ baseUrl, session }).notes.create({ title: "two", body: "live" });
await until("live one,two");
const deleting = socle.notes.delete("rec_0", { optimistic: true }).catch((error) => error.code);
const stored = await storage(socle).upload(new Blob(["content"]), { visibility: "public", filename: "a.txt" });
const content = await (await storage(socle).download(stored.id)).text();
const titles = [];
for await (const { title } of socle.notes.orderBy("title").limit(1).all()) titles.push(title);
const abort = new AbortController();
const aborted = socle.notes.limit(1).page({ signal: abort.signal }).catch(String);
abort.abort(new Error("enough"));
const problem = await socle.notes.create({}).catch((error) => error);
stop();
socle.close();
console.log(
  JSON.stringify({
    ...{ email, isShownAtOnce, isRecord: id.startsWith("rec_"), content, titles, aborted: await aborted },
    ...{ deleted: await deleting, code: SocleError.is(problem, "validation_error") && problem.fields },
  }),
);
