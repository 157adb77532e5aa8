/** An app in the environment of React Native, for `react-native.test.ts`: prints a JSON object of what the app has seen. */
import "./react-native.ts";

// The client is read in the environment that the app has.
const { createClient, SocleError } = await import("../index.ts");
const { live } = await import("../entries/live.ts");
const { storage } = await import("../entries/storage.ts");
const { auth } = await import("../entries/auth.ts");

const baseUrl = process.argv.at(-1) ?? "";
const socle = createClient({ baseUrl, live, retries: 0 });
const tasks = socle.collection("tasks");
const { email } = await socle.login({ email: "ada@example.com", password: "x" });

const seen: string[] = [];
let wake = (): void => undefined;
const stop = tasks
  .where({ n: { gte: 1 } })
  .orderBy("n")
  .live(({ items, status }) => {
    seen.push(`${status} ${items.map(({ title }) => String(title)).join()}`);
    wake();
  });
const until = async (state: string): Promise<void> => {
  while (seen.at(-1) !== state)
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
};
await until("live one");
const creating = tasks.create({ title: "ünï & <2>", n: 2 }, { optimistic: true });
await until("live one,ünï & <2>");
await creating;
await until("offline one,ünï & <2>");
await until("live one,two");

const retrying = createClient({ baseUrl, retries: 1 }).collection("tasks");
const kept = await retrying.create({ title: "once" }).then(() => null, String);
const found: unknown[] = [];
for await (const { title } of tasks.filter`title ~ ${'a "b" & c'}`.limit(1).all()) found.push(title);

const abort = new AbortController();
const aborted = tasks
  .limit(1)
  .page({ signal: abort.signal })
  .catch((error: unknown) => String(error));
const file = new File(["content"], "a.txt");
const both = storage(socle, { signal: abort.signal })
  .upload(file, { signal: new AbortController().signal })
  .catch((error: unknown) => String(error));
abort.abort();
const parts: number[] = [];
const stored = await storage(socle).upload(file, { onProgress: (part) => parts.push(part) });
const unsent = await storage(socle)
  .upload(file, { onProgress: () => undefined, signal: abort.signal })
  .catch((error: unknown) => String(error));
const problem = await auth(socle)
  .signInWith("acme", { redirect: "app://done" })
  .catch((error: unknown) => String(error));
const refused = await tasks.update("1", {}).catch((error: unknown) => SocleError.is(error, "validation_error"));
stop();
socle.close();
const ends = { aborted: await aborted, both: await both, unsent, problem, refused };
console.log(JSON.stringify({ email, seen, kept, found, parts, stored, ...ends }));
