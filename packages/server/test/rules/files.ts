/** Files of the property test of rules: each caller downloads the files that the model allows, whole, in part, as a thumbnail and by a link. */
import { expect } from "bun:test";
import type { Actor, Asked, Cast } from "./cast.ts";
import type { Model, ModelFile } from "./model.ts";

/** An answer that a caller gets of a file. */
interface Expected {
  readonly isAllowed: boolean;
  /** The status for a caller who may download the file. */
  readonly status: number;
}

export class Downloads {
  readonly #cast: Cast;
  readonly #model: Model;

  constructor(cast: Cast, model: Model) {
    this.#cast = cast;
    this.#model = model;
  }

  /** Downloads a file as every caller. */
  async compare(file: ModelFile): Promise<void> {
    for (const caller of this.#cast.callers) await this.#get(caller, file, { status: 200 });
  }

  /** Downloads every file as every caller, in every way. */
  async compareAll(): Promise<void> {
    for (const file of this.#cast.files)
      for (const caller of this.#cast.callers) {
        await this.#get(caller, file, { status: 200 });
        await this.#get(caller, file, { status: 304, headers: { "If-None-Match": `"${file.id}"` } });
        await this.#get(caller, file, { status: 206, headers: { Range: "bytes=0-1" } });
        await this.#get(caller, file, { status: 200, search: "?thumb=16x16" });
        await this.#link(caller, file);
      }
  }

  /** A link works without a sign-in, and only for its own file. */
  async #link(caller: Actor, file: ModelFile): Promise<void> {
    const isAllowed = this.#model.mayDownload(caller, file);
    const asked = { method: "POST", path: `${pathOf(file)}/link` };
    const link = await this.#ask(caller, asked, { isAllowed, status: 200 });
    if (!isAllowed) return;
    const { url } = link as { url: string };
    const search = url.slice(url.indexOf("?"));
    const { nobody, files } = this.#cast;
    for (const end of ["", "&thumb=16x16"])
      await this.#ask(nobody, { method: "GET", path: `${url}${end}` }, { isAllowed: true, status: 200 });
    for (const other of files) if (other !== file) await this.#get(nobody, other, { status: 200, search });
  }

  async #get(
    caller: Actor,
    file: ModelFile,
    { status, search = "", headers = {} }: { status: number; search?: string; headers?: Record<string, string> },
  ): Promise<void> {
    const asked = { method: "GET", path: `${pathOf(file)}${search}`, headers };
    await this.#ask(caller, asked, { isAllowed: this.#model.mayDownload(caller, file), status });
  }

  async #ask(caller: Actor, asked: Asked, { isAllowed, status }: Expected): Promise<unknown> {
    const answer = await this.#cast.request(caller, asked);
    const at = [asked.method, asked.path, caller.name];
    const refusal = caller.id === null ? 401 : 403;
    expect([...at, answer.status]).toEqual([...at, isAllowed ? status : refusal]);
    if (!isAllowed) expect([...at, answer.headers.get("etag")]).toEqual([...at, null]);
    return answer.body;
  }
}

function pathOf({ id }: ModelFile): string {
  return `/api/storage/${id}`;
}
