/** Idle connections are closed; the connection of an endpoint or an import that works in silence is not idle. */
import { expect, test } from "bun:test";
import { openScripts } from "../../../test/scripts.ts";
import { listen } from "../../../test/sockets.ts";

const idleSeconds = 8;
/** Longer than an idle connection stays: the runtime closes after the seconds, and up to four more. */
const silentMs = 13_000;

test("an endpoint, a stream and an import that are silent for longer get a response, and an idle connection is closed", async () => {
  const access = 'export const access = "public";';
  const api = await openScripts({
    collections: [{ name: "slow", fields: [{ name: "n", type: "integer" }] }],
    settings: { SERVICE_SCRIPTS_HOOK_TIMEOUT: "1m" },
    files: {
      "endpoints/late.ts": `${access} export const GET = async () => { await Bun.sleep(${silentMs}); return new Response("late"); };`,
      "endpoints/stream.ts": `${access} export const GET = () => new Response(new ReadableStream({ start: async (controller) => {
        controller.enqueue("first ");
        await Bun.sleep(${silentMs});
        controller.enqueue("last");
        controller.close();
      } }));`,
      "functions/slow/a.ts": `export const beforeCreate = () => Bun.sleep(${silentMs}).then(() => undefined);`,
    },
  });
  const { url } = listen(api, idleSeconds);
  const idle = Promise.withResolvers<string>();
  const { hostname, port } = new URL(url);
  const socket = { data: () => undefined, close: () => idle.resolve("closed") };
  await Bun.connect({ hostname, port: Number(port), socket });
  const text = async (path: string): Promise<string> => (await fetch(`${url}/api/function/${path}`)).text();
  const headers = { Authorization: `Bearer ${await api.admin()}`, "Content-Type": "application/x-ndjson" };
  const imported = fetch(`${url}/api/slow/import`, { method: "POST", body: '{"n":1}', headers });
  const answers = Promise.all([text("late"), text("stream"), imported.then((answer) => answer.json())]);
  expect(await Promise.race([idle.promise, answers])).toBe("closed");
  expect(await answers).toMatchObject(["late", "first last", { imported: 1, rejected: 0, problems: [] }]);
});
