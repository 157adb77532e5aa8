/**
 * Requests that report how much of the body is sent. `fetch` cannot report progress: browsers do so only through XMLHttpRequest.
 */
import type { Send } from "./transport.ts";

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

/**
 * Sends like `fetch`, with the same rejections: TypeError without a connection, the signal's reason when aborted. Undefined in
 * runtimes that cannot tell the progress.
 * @param onProgress is called with the part of the body that is sent: 0 to 1.
 */
export function sendingWithProgress(onProgress: (part: number) => void): Send | undefined {
  return uploadRequest === null
    ? undefined
    : (url, request) => send(new uploadRequest(), { ...request, url, onProgress });
}

type ProgressRequest = Parameters<Send>[1] & { url: string; onProgress: (part: number) => void };

function send(xhr: UploadRequest, request: ProgressRequest): Promise<Response> {
  const { url, method, headers, body, signal, onProgress } = request;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(reasonOf(signal));
      return;
    }
    const abort = (): void => xhr.abort();
    const end = (): void => signal?.removeEventListener("abort", abort);
    xhr.open(method, url);
    xhr.responseType = "blob";
    for (const [name, value] of headers) xhr.setRequestHeader(name, value);
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
      reject(reasonOf(signal));
    });
    signal?.addEventListener("abort", abort);
    xhr.send(body);
  });
}

/** The reason of an abort. React Native has neither reasons nor `DOMException`. */
function reasonOf(signal: AbortSignal | null): unknown {
  return signal?.reason ?? Object.assign(new Error("The request was aborted"), { name: "AbortError" });
}

function headersOf(xhr: UploadRequest): Headers {
  const headers = new Headers();
  for (const line of xhr.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  return headers;
}
