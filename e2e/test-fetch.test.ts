/** `service.fetch` of `socle test`: the test answers the requests of the code to other services. */
import { expect, test } from "bun:test";
import { tested } from "./tested.ts";

test("handlers of the test answer the fetch of endpoints, hooks, functions, queues and new processes; the network gets nothing", async () => {
  let heard = 0;
  using real = Bun.serve({
    port: 0,
    fetch: () => {
      heard += 1;
      return new Response("real");
    },
  });
  using other = Bun.serve({ port: 0, fetch: () => new Response("other") });
  const mail = real.url.origin;
  const { run } = await tested({
    "endpoints/ask.ts": `export const access: EndpointAccess = "public";
export const POST: Endpoint = async (request) => {
  const { url, ...init } = await request.json();
  try {
    const answer = await fetch(url, init);
    return Response.json([answer.status, answer.url, answer.headers.get("x-a"), await answer.text()]);
  } catch (error) {
    return Response.json(String(error));
  }
};
`,
    "endpoints/crash.ts": `export const access: EndpointAccess = "public";
export const POST: Endpoint = () => { while (true); };
export const options: EndpointOptions = { timeout: "100ms" };
`,
    "functions/notes/hook.ts": `export const beforeCreate: BeforeCreate<"notes"> = async ({ record }) => {
  if (record.text === "asked") return { text: await (await fetch("${mail}/hook")).text() };
};
export const onCreate: OnCreate<"notes"> = async ({ jobs }) => {
  await fetch(new Request("${mail}/function", { method: "PUT", body: new Uint8Array([0, 255]) }));
  await jobs.enqueue("mail", { to: "ada" });
};
`,
    "jobs/mail.ts": `export const queue = {};
const job: QueueJob<{ to: string }> = async ({ payload, logger }) => {
  const answer = await fetch(new URL("${mail}/send?to=" + payload.to), { method: "POST", body: "Hi" });
  if (!answer.ok) throw new Error("mail");
};
export default job;
`,
    "endpoints/all.test.ts": `import { beforeAll, expect, service, test } from "socle/test";
const ask = async (url: string, init = {}) => {
  const guest = await service.client();
  return (await guest.function("ask", { body: { url, ...init } })).json();
};
beforeAll(() => service.fetch("${mail}/always", () => new Response("always")));

test("everything", async () => {
  const seen: unknown[] = [];
  await service.fetch("${mail}/", async (request) => {
    const bytes = [...new Uint8Array(await request.arrayBuffer())];
    seen.push([request.method, request.url.slice(${mail.length}), bytes]);
    expect([...request.headers.keys()].filter((name) => name.startsWith("x-socle"))).toEqual([]);
    return new Response("mocked", { status: 201, headers: { "X-A": request.headers.get("x-b") ?? "-" } });
  });
  await service.fetch("${mail}/hook", () => new Response("of the hook"));
  expect(await ask("${mail}/a?b=1", { headers: { "x-b": "c" } })).toEqual([201, "${mail}/a?b=1", "c", "mocked"]);
  expect(await ask("${other.url.origin}/")).toEqual([200, "${other.url.origin}/", null, "other"]);
  const ada = await service.client("ada@example.com");
  expect((await ada.collection("notes").create({ text: "asked" })).text).toBe("of the hook");
  await service.idle();
  expect(seen).toEqual([["GET", "/a?b=1", []], ["PUT", "/function", [0, 255]], ["POST", "/send?to=ada", [72, 105]]]);
  await service.fetch("${mail}/gone", () => { throw new Error("the handler's"); });
  expect(await ask("${mail}/gone")).toContain("failed: Error: the handler's");
  await service.fetch("${mail}/moved", () => Response.redirect("${mail}/a"));
  expect(await ask("${mail}/moved")).toContain("with a redirect");
  expect((await ask("${mail}/moved", { redirect: "manual" }))[0]).toBe(302);
  // The process is lost; the next process asks the test, too.
  const guest = await service.client();
  expect(await guest.function("crash", { body: {} }).catch(({ status }) => status)).toBeGreaterThanOrEqual(502);
  expect((await ask("${mail}/always"))[0]).toBe(201);
});

test("handlers of another test are gone, and the origin stays closed", async () => {
  expect((await ask("${mail}/always"))[3]).toBe("always");
  expect(await ask("${mail}/a")).toBe("TypeError: No handler of service.fetch takes GET ${mail}/a");
  expect(await service.fetch("/path", () => new Response()).catch(String)).toContain('"/path" is no address such as');
});
`,
    "endpoints/next.test.ts": `import { expect, service, test } from "socle/test";
test("another service asks the network", async () => {
  const guest = await service.client();
  expect(await (await guest.function("ask", { body: { url: "${mail}/" } })).json()).toMatchObject([200, expect.anything(), null, "real"]);
});
`,
  });
  const { stderr, code } = await run();
  expect(stderr).toContain("3 pass\n 0 fail");
  expect(code).toBe(0);
  expect(heard).toBe(1);
});
