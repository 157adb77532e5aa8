/** A project with definition files that change between restarts of the service, for tests of migrations. */
import { expect } from "bun:test";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openApi, type TestApi, temporaryFolder } from "./kit.ts";

/** A project folder with files that change between restarts. */
export async function project(...definitions: object[]) {
  const folder = temporaryFolder();
  let api: TestApi = await openApi({ folder, collections: definitions });
  return {
    get api() {
      return api;
    },
    /** Restarts with other files. */
    async restart(...next: object[]): Promise<TestApi> {
      await api.close();
      await rm(join(folder, "collections"), { recursive: true });
      api = await openApi({ folder, collections: next });
      return api;
    },
    async add(collection: string, values: object): Promise<string> {
      const answer = await api.request("POST", `/api/${collection}`, { body: values });
      expect(answer.status).toBe(201);
      return String(answer.body["id"]);
    },
    async all(collection: string): Promise<unknown> {
      const { items } = (await api.request("GET", `/api/${collection}`)).body;
      if (!Array.isArray(items)) throw new Error("no list");
      return items.map(({ id: _, createdAt: __, updatedAt: ___, ...values }) => values);
    },
  };
}
