/** For tests of collections through the admin API: a service without collections, and short ways to make and change collections. */
import { expect } from "bun:test";
import { type Answer, openApi, type TestApi } from "./kit.ts";

export interface SchemaWorld {
  api: TestApi;
  token: string;
  /** Sends a request under `/api/admin`, as an admin. */
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Makes a collection with a name of its own, and answers the name. */
  create(definition: object): Promise<string>;
  /** The last given name. */
  lastName(): string;
}

export const text = (name: string, more: object = {}) => ({ name, type: "string", ...more });
export const messageOf = ({ body }: Answer): string => String(body["error"]?.["message"]);

export async function openSchemaWorld(): Promise<SchemaWorld> {
  const api = await openApi({});
  const token = await api.admin();
  let made = 0;
  const send: SchemaWorld["send"] = (method, path, body) =>
    api.request(method, `/api/admin${path}`, { token, ...(body !== undefined && { body }) });
  const lastName = (): string => `c${made}`;
  return {
    api,
    token,
    send,
    lastName,
    async create(definition) {
      made += 1;
      expect((await send("POST", "/collections", { name: lastName(), ...definition })).status).toBe(201);
      return lastName();
    },
  };
}
