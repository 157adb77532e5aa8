/** Sockets of the executable, when another process ends a session or the service ends. */
import { expect, test } from "bun:test";
import { post, project, type Running, serve, socle, until } from "./kit.ts";

const collections = [{ name: "notes", fields: [{ name: "n", type: "integer" }] }];

interface Client {
  socket: WebSocket;
  frames: string[];
  code: number | null;
}

async function connect({ url }: Running, token = ""): Promise<Client> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/realtime?token=${token}`);
  const client: Client = { socket, frames: [], code: null };
  socket.onopen = () => socket.send('{"action":"subscribe","channel":"notes.*"}');
  socket.onmessage = ({ data }) => client.frames.push(String(data));
  socket.onclose = ({ code }) => {
    client.code = code;
  };
  await until(() => client.frames.length === 2);
  return client;
}

test("a stop closes the sockets with 1001, after the written events", async () => {
  const server = await serve(await project({ collections }));
  const client = await connect(server);
  await post(`${server.url}/api/notes`, { n: 1 });
  expect(await server.stop()).toBe(0);
  await until(() => client.code !== null);
  expect(client.code).toBe(1001);
  expect(client.frames[0]).toContain('"type":"connected"');
  expect(client.frames[2]).toContain('"type":"notes.created"');
});

test("sessions that another process ends take their sockets along", async () => {
  const cwd = await project({ collections });
  const server = await serve(cwd);
  const credentials = { email: "me@example.com", password: "long enough" };
  const registered = await post(`${server.url}/api/auth/register`, credentials);
  const { token } = (await registered.json()) as { token: string };
  const [mine, other] = [await connect(server, token), await connect(server)];
  const args = ["admin", "create", credentials.email, "--password", "another password", "--config", "config.json"];
  expect((await socle(args, { cwd })).code).toBe(0);
  await until(() => mine.code !== null);
  expect(mine.code).toBe(4401);
  expect(mine.frames.at(-1)).toContain('"code":"token_expired"');
  expect(other.code).toBeNull();
  other.socket.close();
  await server.stop();
});
