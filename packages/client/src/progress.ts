/**
 * Requests that report how much of the body is sent. `fetch` cannot report progress: browsers do so only through XMLHttpRequest.
 */

/** The parts of XMLHttpRequest that the client uses; the types of server runtimes do not have XMLHttpRequest. */
interface UploadRequest {
  readonly status: number;
  readonly response: unknown;
  readonly upload: { addEventListener(type: "progress", listener: (event: Progress) => void): void };
  responseType: string;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  addEventListener(type: "load" | "error" | "abort", listener: () => void): void;
  send(body: FormData | string | null): void;
  abort(): void;
}

interface Progress {
  readonly lengthComputable: boolean;
  readonly loaded: number;
  readonly total: number;
}

/** Null in runtimes without XMLHttpRequest, for example Node. */
const uploadRequest = (globalThis as { XMLHttpRequest?: new () => UploadRequest }).XMLHttpRequest ?? null;

export const canTellProgress = uploadRequest !== null;

interface ProgressRequest {
  method: string;
  headers: Readonly<Record<string, string>>;
  content: FormData | string | undefined;
  signal: AbortSignal | undefined;
  /** Gets 0 to 1. */
  onProgress: (part: number) => void;
}

/**
 * Sends like `fetch`, with the same rejections: TypeError without a connection, the signal's reason when aborted.
 * Requires `canTellProgress`.
 */
export function sendWithProgress(url: string, request: ProgressRequest): Promise<Response> {
  const { method, headers, content, signal, onProgress } = request;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    if (uploadRequest === null) throw new TypeError("This runtime has no XMLHttpRequest");
    const xhr = new uploadRequest();
    const abort = (): void => xhr.abort();
    const end = (): void => signal?.removeEventListener("abort", abort);
    xhr.open(method, url);
    xhr.responseType = "blob";
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.addEventListener("progress", ({ lengthComputable, loaded, total }) => {
      if (lengthComputable && total > 0) onProgress(loaded / total);
    });
    xhr.addEventListener("load", () => {
      end();
      const isEmpty = xhr.status === 204 || xhr.status === 304;
      resolve(new Response(isEmpty ? null : (xhr.response as Blob), { status: xhr.status, headers: headersOf(xhr) }));
    });
    xhr.addEventListener("error", () => {
      end();
      reject(new TypeError("The request could not be sent"));
    });
    xhr.addEventListener("abort", () => {
      end();
      reject(signal?.reason ?? new DOMException("The request was aborted", "AbortError"));
    });
    signal?.addEventListener("abort", abort);
    xhr.send(content ?? null);
  });
}

function headersOf(xhr: UploadRequest): Headers {
  const headers = new Headers();
  for (const line of xhr.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return headers;
}
