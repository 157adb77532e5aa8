import type { StoredFile, Visibility } from "@socle/protocol";
import type { Transport } from "./transport.ts";

/** The files of a service. Every method throws `SocleError`. */
export class StorageClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores a file of at most 10 MiB. `filename` is for blobs that have no name. */
  upload(file: Blob, options: { visibility?: Visibility; filename?: string } = {}): Promise<StoredFile> {
    const form = new FormData();
    form.set("visibility", options.visibility ?? "protected");
    const filename = options.filename ?? (file instanceof File ? file.name : "file");
    form.set("file", file, filename);
    return this.#transport.json("POST", "/api/storage/upload", form);
  }

  /** The content of a file. */
  async download(id: string): Promise<Blob> {
    return (await this.#transport.send("GET", path(id))).blob();
  }

  async delete(id: string): Promise<void> {
    await this.#transport.send("DELETE", path(id));
  }

  /** Where a public file is, for `<img src>`. `thumb` is the box of a thumbnail: "200x200", "200x" or "x200". */
  url(id: string, options: { thumb?: string } = {}): string {
    const query = options.thumb === undefined ? "" : `?thumb=${encodeURIComponent(options.thumb)}`;
    return `${this.#transport.baseUrl}${path(id)}${query}`;
  }
}

function path(id: string): string {
  return `/api/storage/${encodeURIComponent(id)}`;
}
