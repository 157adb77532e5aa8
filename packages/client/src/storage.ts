/** Storage client: upload, download and deletion of files. */
import type { FileLink, StoredFile, Visibility } from "@socle/protocol";
import { sendingWithProgress } from "./progress.ts";
import type { Requests } from "./transport.ts";

export interface UploadOptions {
  /** Protected by default. */
  visibility?: Visibility;
  /** For blobs that have no name. */
  filename?: string;
  signal?: AbortSignal;
  /** Called while the file is sent, with the part that has left: 0 to 1. In browsers only. */
  onProgress?: (part: number) => void;
}

/** A file of a device, as React Native names the file in a form. */
export interface DeviceFile {
  readonly uri: string;
  readonly name: string;
  /** The type of the content: `image/png`. */
  readonly type: string;
}

/** The files of a service. Every method throws `SocleError`. */
export class StorageClient {
  readonly #transport: Requests;

  constructor(transport: Requests) {
    this.#transport = transport;
  }

  /** Stores a file of at most 10 MiB. */
  upload(file: Blob | DeviceFile, options: UploadOptions = {}): Promise<StoredFile> {
    const form = new FormData();
    form.append("visibility", options.visibility ?? "protected");
    const name = options.filename ?? ("name" in file ? String(file.name) : "file");
    // The form of React Native takes the file of a device in the place of a blob.
    form.append("file", file as Blob, name);
    const { signal, onProgress } = options;
    const send = onProgress && sendingWithProgress(onProgress);
    return this.#transport.call("POST", "/api/storage/upload", { body: form, signal, send });
  }

  /**
   * The content of a file, or of a thumbnail: `thumb` is the box, "200x200", "200x" or "x200". With `maxBytes` only the
   * beginning of the file, at most so many bytes; an empty file is refused then (416).
   */
  async download(id: string, options: { thumb?: string; maxBytes?: number; signal?: AbortSignal } = {}): Promise<Blob> {
    const { thumb, maxBytes, signal } = options;
    const headers = maxBytes === undefined ? {} : { Range: `bytes=0-${maxBytes - 1}` };
    return (await this.#transport.fetch("GET", path(id, thumb), { signal, headers })).blob();
  }

  /**
   * An address that works without a token for some minutes, for every holder of the address: for `<img src>`, or a download by the browser.
   * The address ends with the file; the address does not end when the caller loses the right to download the file.
   */
  async link(id: string, options: { thumb?: string } = {}): Promise<FileLink> {
    const link = await this.#transport.call<FileLink>("POST", linkPath(id, options.thumb));
    return { ...link, url: `${this.#transport.baseUrl}${link.url}` };
  }

  async delete(id: string): Promise<void> {
    await this.#transport.fetch("DELETE", path(id));
  }

  /** The address of a public file, for `<img src>`. `thumb` is the box of a thumbnail: "200x200", "200x" or "x200". */
  url(id: string, options: { thumb?: string } = {}): string {
    return `${this.#transport.baseUrl}${path(id, options.thumb)}`;
  }
}

function path(id: string, thumb?: string): string {
  return `/api/storage/${encodeURIComponent(id)}${thumbQuery(thumb)}`;
}

function linkPath(id: string, thumb?: string): string {
  return `/api/storage/${encodeURIComponent(id)}/link${thumbQuery(thumb)}`;
}

function thumbQuery(thumb: string | undefined): string {
  return thumb === undefined ? "" : `?thumb=${encodeURIComponent(thumb)}`;
}
