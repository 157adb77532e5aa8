/** API keys against the executable: by the client, over a socket, after a restart, and in the log. */
import { expect, test } from "bun:test";
import { SocleClient, SocleError } from "../packages/client/src/index.ts";
import { project, serve, until } from "./kit.ts";

const password = "a password of the environment";
const definition = {
  name: "notes",
  fields: [{ name: "text", type: "string" }],
  permissions: { read: "authenticated", create: "authenticated", update: "owner", delete: "owner" },
};
const cwd = await project({ collections: [definition], config: { log: { access: 100 } } });
const env = { SERVICE_ADMIN_EMAIL: "admin@example.com", SERVICE_ADMIN_PASSWORD: password };

test("keys work until their deletion, also after a restart, and no log has a key", async () => {
  let server = await serve(cwd, { args: ["--port", "0"], env });
  const admin = new SocleClient({ baseUrl: server.url });
  await admin.login({ email: "admin@example.com", password });
  const user = new SocleClient({ baseUrl: server.url });
  await user.register({ email: "ann@example.com", password });
  const { id: userId } = await user.me();
  const made = await user.auth.keys.create({ name: "script", scopes: ["notes:read", "notes:write"] });
  const ofService = await admin.admin.keys.create({ name: "deployment", scopes: ["notes:read"] });
  const { key: _, ...entry } = made;
  expect(await user.auth.keys.list()).toEqual([entry]);
  expect((await admin.admin.users.keys(userId)).items.map(({ id }) => id)).toEqual([made.id]);

  const script = new SocleClient({ baseUrl: server.url, key: made.key });
  const heard: string[] = [];
  const errors: string[] = [];
  let isLive = false;
  script.subscribe("notes.created", ({ type }) => heard.push(type), { onReset: () => (isLive = true) });
  script.subscribe("auth.login", () => heard.push("auth"), { onError: (error) => errors.push(error.message) });
  await until(() => isLive && errors.length === 1);
  expect(errors[0]).toContain("auth:read");
  const note = await script.collection("notes").create({ text: "by a key" });
  await until(() => heard.length === 1);
  const service = new SocleClient({ baseUrl: server.url, key: ofService.key });
  expect((await service.collection("notes").list()).map(({ id }) => id)).toEqual([note.id]);
  await expect(service.collection("notes").create({ text: "x" })).rejects.toBeInstanceOf(SocleError);
  await expect(script.auth.keys.create({ name: "more", scopes: ["notes:read"] })).rejects.toMatchObject({
    status: 403,
  });
  script.close();

  await server.stop();
  const first = server.output();
  server = await serve(cwd, { args: ["--port", "0"], env });
  const later = new SocleClient({ baseUrl: server.url, key: made.key });
  expect((await later.collection("notes").get(note.id)).id).toBe(note.id);
  const root = new SocleClient({ baseUrl: server.url });
  await root.login({ email: "admin@example.com", password });
  await root.admin.users.deleteKey(userId, made.id);
  await root.admin.keys.delete(ofService.id);
  await expect(later.me()).rejects.toMatchObject({ status: 401 });
  const [audit] = (await root.admin.events({ type: "admin.key.created" })).items;
  expect([audit?.payload["target"], JSON.stringify(audit).includes("sk_")]).toEqual([ofService.id, false]);
  const output = first + server.output();
  expect(output).toContain(ofService.id);
  expect(output).not.toContain("sk_");
  await server.stop();
});
