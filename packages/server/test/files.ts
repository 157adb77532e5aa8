/** Kit of the tests of files: a service with two users and an admin, uploads and downloads without a socket. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileForm, formType } from "./forms.ts";
import { type Answer, openApi } from "./kit.ts";

/** Opens a service with storage for a file of tests. `settings` are variables of the environment. */
export async function openFiles(settings: Record<string, string> = {}) {
  const api = await openApi({
    settings,
    collections: [
      {
        name: "posts",
        fields: [
          { name: "title", type: "string" },
          { name: "image", type: "file" },
        ],
      },
    ],
  });
  const { service, config, request } = api;
  const adminToken = await api.admin();
  const owner = await api.register("owner@example.com");
  const other = await api.register("other@example.com");
  const token = owner.accessToken;

  function upload(body: Uint8Array, options: { token?: string; type?: string } = {}): Promise<Answer> {
    const headers = { "Content-Type": options.type ?? formType };
    return request("POST", "/api/storage/upload", { body, token: options.token ?? token, headers });
  }

  /** Stores a file of the owner; answers its id. */
  async function store(content: string | Uint8Array, filename = "file.bin", visibility = "public"): Promise<string> {
    const { status, body } = await upload(fileForm(content, { filename, visibility }));
    if (status !== 201) throw new Error(`The upload was answered with ${status}`);
    return String(body["id"]);
  }

  function get(id: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
    return request(method, `/api/storage/${id}`, { headers });
  }

  function text({ bytes }: Answer): string {
    return new TextDecoder().decode(bytes);
  }

  /** Every file below the storage folder. */
  function onDisk(): string[] {
    const all = readdirSync(config.storage, { recursive: true, withFileTypes: true });
    return all.filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
  }

  return { service, config, request, adminToken, owner, other, token, upload, store, get, text, onDisk };
}
