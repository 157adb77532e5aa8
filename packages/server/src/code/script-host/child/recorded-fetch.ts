/** The `fetch` of the code of a preview: the service records the request, nothing is sent, and the answer is 200 with an empty object. */
import type { ServiceClient } from "./service-client.ts";

/** Bytes of a body that are read. */
const maxBytes = 16 * 1024;
/** Requests that leave the process do not have these protocols. */
const local = /^(?:data|blob|file):$/;

let isRecording = false;

/** From now on, each request of the process is recorded. */
export function recordFetches(): void {
  isRecording = true;
}

/** Whether a request is recorded. An invalid address is refused by `fetch` itself. */
export function isRecorded(input: string | URL | Request): boolean {
  if (!isRecording) return false;
  const url = URL.parse(input instanceof Request ? input.url : String(input));
  return url !== null && !local.test(url.protocol);
}

/** @param calls null outside of a handler: the log names the request. */
export async function recordFetch(make: () => Request, calls: ServiceClient | null): Promise<Response> {
  const request = make();
  request.signal.throwIfAborted();
  const { method, url } = request;
  const target = url.slice(0, maxBytes);
  if (calls === null)
    console.warn(`A request outside of a handler was recorded, and answered 200 {}: ${method} ${target}`);
  else await calls.call("preview.fetch", [method, target, await beginOf(request.body)]);
  const response = Response.json({}, { headers: { "x-socle-preview": "recorded" } });
  return Object.defineProperty(response, "url", { value: url });
}

/** The begin of a body as text; null without a body. */
async function beginOf(body: Request["body"]): Promise<string | null> {
  if (body === null) return null;
  const decoder = new TextDecoder();
  let text = "";
  let left = maxBytes;
  for await (const piece of body) {
    const part = piece.subarray(0, left);
    text += decoder.decode(part, { stream: true });
    left -= part.byteLength;
    if (left === 0) break;
  }
  return text;
}
